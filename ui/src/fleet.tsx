// What all runs of a project did with their time: in one glance, part by part, and which lost most.
import type { JSX } from "preact";
import type { Fleet, FleetPart, Price, Run } from "../gen/headway/v1/run_service_pb.js";
import { Category } from "../gen/headway/v1/report_pb.js";
import { runAddress } from "./address.ts";
import { colorOf, isCrossedOut, lookOf } from "./categories.ts";
import { count, duration, percent } from "./format.ts";
import { Fact, Goodput, Scroll, Value } from "./parts.tsx";

const ns = (seconds: number): bigint => BigInt(Math.round(seconds * 1e9));

/** Hours of accelerators as people say them: `1,234 h`. */
const hours = (seconds: number): string =>
  `${(seconds / 3600).toLocaleString("en-US", { maximumSignificantDigits: 4 })} h`;

export function money(amount: number | undefined, price: Price | undefined): string {
  if (amount === undefined || price === undefined) return "–";
  const digits = { maximumFractionDigits: amount < 100 ? 2 : 0 };
  return `${amount.toLocaleString("en-US", digits)} ${price.currency}`;
}

export function Totals({ fleet }: { fleet: Fleet }): JSX.Element | null {
  const { all, price } = fleet;
  if (all === undefined || all.runs === 0n) return null;
  const known = all.withoutAccelerators < all.runs;
  return (
    <section aria-label="All runs together">
      <div class="headline">
        <div>
          <p class="goodput">
            <Value
              value={all.goodput}
              title="productive share of the time that elapsed in all runs together"
            >
              <span class="big">{percent(all.goodput)}</span> %
            </Value>{" "}
            <span class="muted">goodput of {count(all.runs)} runs</span>
          </p>
        </div>
        <dl class="facts">
          <Fact label="Live" about="their processes live, or are being started again">
            {count(all.live)}
          </Fact>
          <Fact label="Elapsed" about="of all runs together">
            {duration(ns(all.elapsedSeconds))}
          </Fact>
          <Fact label="Lost" about="what was not productive">
            {duration(ns(all.lostSeconds))}
          </Fact>
          <Fact label="Disruptions" about="attempts that ended before their run was done">
            {count(all.disruptions)}
          </Fact>
          {known && (
            <Fact
              label="Accelerator time lost"
              about={
                all.withoutAccelerators > 0n
                  ? `of the runs that say how many they hold: ${all.withoutAccelerators} do not`
                  : "lost time, times how many each run holds"
              }
            >
              {hours(all.lostAcceleratorSeconds)}
            </Fact>
          )}
          {known && price !== undefined && (
            <Fact
              label="Cost of that"
              about={`${price.perAcceleratorHour} ${price.currency} for each accelerator's hour`}
            >
              {money(all.lostCost, price)}
            </Fact>
          )}
        </dl>
      </div>
      <Bar part={all} />
      {all.unknown > 0n && (
        <p class="muted small">
          Without {count(all.unknown)} runs whose time is still being looked at.
        </p>
      )}
    </section>
  );
}

function Bar({ part }: { part: FleetPart }): JSX.Element {
  const good = (one: { category: Category }): number =>
    one.category === Category.PRODUCTIVE ? 1 : 0;
  const times = [...part.categories].sort((a, b) => good(b) - good(a) || b.seconds - a.seconds);
  const share = (seconds: number): string => percent(seconds / (part.elapsedSeconds || 1));
  const label = times
    .map(({ category, seconds }) => `${lookOf(category).label} ${share(seconds)} %`)
    .join(", ");
  return (
    <div class="bar" role="img" aria-label={label}>
      {times.map(({ category, seconds }) => (
        <span
          key={category}
          class={isCrossedOut(category) ? "crossed" : ""}
          style={{ flexGrow: seconds, "--color": colorOf(category) }}
          title={`${lookOf(category).label}: ${duration(ns(seconds))}, ${share(seconds)} %`}
        />
      ))}
    </div>
  );
}

/** What runs have in common, side by side. */
export function Parts(props: {
  fleet: Fleet;
  by: string;
  to: (name: string) => string;
}): JSX.Element {
  const { fleet, by, to } = props;
  const { price } = fleet;
  const row = (part: FleetPart, name: JSX.Element): JSX.Element => (
    <tr key={part.name}>
      <th scope="row">{name}</th>
      <td class="number">{count(part.runs)}</td>
      <td class="number minor">{count(part.live)}</td>
      <td class="number goodput">
        <span class="meter" aria-hidden="true">
          <span style={{ width: `${(part.goodput ?? 0) * 100}%` }} />
        </span>
        <Goodput share={part.goodput} />
      </td>
      <td class="wide minor">
        <Bar part={part} />
      </td>
      <td class="number">
        <Value value={part.lostSeconds} title={`${part.lostSeconds} s`}>
          {duration(ns(part.lostSeconds))}
        </Value>
      </td>
      <td class="number minor">
        {part.withoutAccelerators < part.runs ? hours(part.lostAcceleratorSeconds) : "–"}
      </td>
      {price !== undefined && <td class="number">{money(part.lostCost, price)}</td>}
    </tr>
  );
  return (
    <section>
      <h2 id="parts">By {by}</h2>
      <Scroll label={`Runs by ${by}`}>
        <table aria-labelledby="parts">
          <thead>
            <tr>
              <th scope="col">{by}</th>
              <th scope="col" class="number">
                Runs
              </th>
              <th scope="col" class="number minor">
                Live
              </th>
              <th scope="col" class="number">
                Goodput
              </th>
              <th scope="col" class="minor">
                Where the time went
              </th>
              <th scope="col" class="number">
                Lost
              </th>
              <th scope="col" class="number minor">
                Accelerator time lost
              </th>
              {price !== undefined && (
                <th scope="col" class="number">
                  Cost of that
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {fleet.parts.map((part) =>
              row(
                part,
                part.name === "" ? (
                  <span class="muted">none</span>
                ) : (
                  <a href={to(part.name)}>{part.name}</a>
                ),
              ),
            )}
            {fleet.rest !== undefined &&
              row(fleet.rest, <span class="muted">{count(fleet.restParts)} others</span>)}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** What was not productive of a run, as far as that is known. */
export function lostOf(run: Run): bigint | undefined {
  if (run.digest === undefined) return undefined;
  return run.digest.categories
    .filter(({ category }) => category !== Category.PRODUCTIVE)
    .reduce((sum, one) => sum + one.ns, 0n);
}

/** What its lost time cost; undefined: that is not known. */
export function costOf(run: Run, price: Price | undefined): number | undefined {
  const lost = lostOf(run);
  if (lost === undefined || price === undefined || run.accelerators === 0n) return undefined;
  return ((Number(lost) * Number(run.accelerators)) / 3.6e12) * price.perAcceleratorHour;
}

/** The runs that lost most, the most first. */
export function Costliest({ fleet }: { fleet: Fleet }): JSX.Element | null {
  const { costliest, byAcceleratorTime, price } = fleet;
  if (costliest.length === 0) return null;
  return (
    <section>
      <h2 id="costliest">What lost most{byAcceleratorTime ? ", in accelerator time" : ""}</h2>
      <ol class="ranking" aria-labelledby="costliest">
        {costliest.map((run) => {
          const lost = lostOf(run) ?? 0n;
          const worst = [...(run.digest?.categories ?? [])]
            .filter(({ category }) => category !== Category.PRODUCTIVE)
            .sort((a, b) => Number(b.ns - a.ns))[0];
          const cost = costOf(run, price);
          return (
            <li key={run.uid}>
              <a href={runAddress(run.project, run.label)}>{run.label}</a>{" "}
              <b>
                {byAcceleratorTime
                  ? hours((Number(lost) * Number(run.accelerators)) / 1e9)
                  : duration(lost)}
              </b>
              {cost !== undefined && ` · ${money(cost, price)}`}
              {worst !== undefined && (
                <span class="muted"> mostly {lookOf(worst.category).label.toLowerCase()}</span>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

const WIDTH = 96;
const HEIGHT = 22;

/** Goodput over the run's time. */
export function Sparkline({ run }: { run: Run }): JSX.Element {
  const values = run.digest?.goodput ?? [];
  if (values.every((value) => Number.isNaN(value))) return <>–</>;
  const step = WIDTH / Math.max(values.length, 1);
  const segments: string[] = [];
  let open = false;
  values.forEach((value, i) => {
    if (Number.isNaN(value)) {
      open = false;
      return;
    }
    const x = (i + 0.5) * step;
    const y = HEIGHT - 2 - value * (HEIGHT - 4);
    segments.push(`${open ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`);
    open = true;
  });
  const last = values.findLast((value) => !Number.isNaN(value));
  return (
    <svg
      class="spark"
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`Goodput over its time, ${percent(last)} % at the end`}
    >
      <path d={segments.join("")} />
    </svg>
  );
}
