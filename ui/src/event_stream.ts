// Server-sent events out of the text of an answer, however it is cut. Pure. Browsers' own
// EventSource can't send the header that says who asks.

export interface StreamEvent {
  event: string;
  data: string;
  /** The last one that was told, of this event or an earlier one; empty: none was. */
  id: string;
}

export class EventParser {
  /** Milliseconds to wait before connecting again, if the server told it. */
  retryMs: number | undefined;
  private rest = "";
  private data: string[] = [];
  private event = "";
  private id = "";

  /** The events that are whole with this text. */
  feed(text: string): StreamEvent[] {
    this.rest += text;
    const found: StreamEvent[] = [];
    while (true) {
      const end = /\r\n|\n|\r/u.exec(this.rest);
      // What begins the next text may belong to a carriage return at the end of this one.
      if (end === null || (end[0] === "\r" && end.index === this.rest.length - 1)) break;
      const line = this.rest.slice(0, end.index);
      this.rest = this.rest.slice(end.index + end[0].length);
      const whole = this.take(line);
      if (whole !== undefined) found.push(whole);
    }
    return found;
  }

  private take(line: string): StreamEvent | undefined {
    if (line === "") {
      const { event, data, id } = this;
      this.event = "";
      this.data = [];
      if (data.length === 0) return undefined;
      return { event: event || "message", data: data.join("\n"), id };
    }
    const colon = line.indexOf(":");
    if (colon === 0) return undefined; // a comment: it says that the connection lives
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /u, "");
    if (field === "data") this.data.push(value);
    else if (field === "event") this.event = value;
    else if (field === "id" && !value.includes("\0")) this.id = value;
    else if (field === "retry" && /^\d+$/u.test(value)) this.retryMs = Number(value);
    return undefined;
  }
}
