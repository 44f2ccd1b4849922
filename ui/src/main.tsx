import { render } from "preact";
import { followLinks } from "./address.ts";
import { App } from "./app.tsx";
import { defineColors } from "./categories.ts";
import { loadTheRest } from "./later.tsx";
import { start } from "./session.ts";
import "./style.css";

defineColors(document.documentElement);
followLinks();
render(<App />, document.body);
void start().then(loadTheRest);
