// The page of a story, or of an alarm: charts and graph from the JSON that stands in the page. Without a script its text can still be read.
import { render } from "preact";
import type { Story } from "../shared/data";
import { Total } from "../shared/receipts";
import { StoryParts } from "../shared/storyparts";
import { type Alarm, AlarmCharts } from "./alarm";

const data = JSON.parse(document.getElementById("story")!.textContent!) as Story | { stories: Story[]; dearest: number } | Alarm;
if ("stories" in data) {
  document.querySelectorAll(".total-loss").forEach((place, i) => render(<Total receipts={data.stories[i]!.receipts} unit={data.stories[i]!.unit} full={data.dearest} />, place));
} else {
  const app = document.getElementById("app")!;
  app.replaceChildren();
  render("thresholds" in data ? <AlarmCharts alarm={data} /> : <StoryParts story={data} />, app);
}
document.body.dataset.ready = "yes";
