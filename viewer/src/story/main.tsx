// The page of a story: charts and graph from the JSON that stands in the page. Without a script its text can still be read.
import { type ComponentChildren, render } from "preact";
import type { Story } from "../shared/data";
import { Graph } from "../shared/graph";
import { Moments } from "../shared/moments";
import { Posterior } from "../shared/posterior";
import { Ledger, Total } from "../shared/receipts";
import { Statements } from "../shared/statements";

function Section({ id, title, reading, children }: { id: string; title: string; reading: string; children: ComponentChildren }) {
  return <section id={id}><h2>{title}</h2><p class="reading">{reading}</p>{children}</section>;
}

function Page({ story }: { story: Story }) {
  const { unit, updates } = story;
  const decision = story.moments.length === 1;
  const hypotheses = updates.some((update) => Object.keys(update.explanations).length);
  return (
    <>
      {story.receipts.length > 0 && <Total receipts={story.receipts} unit={unit} />}
      {!decision && <Section id="happened" title="What happened" reading="Time runs down the page. Under a decision, each bar is what an alternative is expected to cost more than the best.">
        <Moments moments={story.moments} unit={unit} began={story.began} />
      </Section>}
      {decision && <Section id="happened" title="The decision" reading="Each bar is what an alternative is expected to cost more than the best; what all cost anyway is grey.">
        <Moments moments={story.moments} unit={unit} began={null} />
      </Section>}
      {hypotheses && <Section id="posterior" title="What may be the matter" reading="Each column is one update on new evidence; the taller a band, the likelier.">
        <Posterior updates={updates} />
      </Section>}
      {story.statements.length > 0 && <Section id="declared" title="What was declared" reading="The small columns show how likely each statement was wrong after each update.">
        <Statements statements={story.statements} updates={updates} />
      </Section>}
      {story.nodes.length > 0 && <Section id="graph" title="What rests on what" reading="Arrows lead from probes to the beliefs they support and on to the actions that rest on them. Click a node to light all that rests on it.">
        <Graph nodes={story.nodes} edges={story.edges} />
      </Section>}
      {story.receipts.length > 0 && <Section id="cost" title="What it cost" reading="Every act, and when it ran.">
        <Ledger receipts={story.receipts} unit={unit} />
      </Section>}
    </>
  );
}

const data = JSON.parse(document.getElementById("story")!.textContent!) as Story | { stories: Story[]; dearest: number };
if ("stories" in data) {
  document.querySelectorAll(".total-loss").forEach((place, i) => render(<Total receipts={data.stories[i]!.receipts} unit={data.stories[i]!.unit} full={data.dearest} />, place));
} else {
  const app = document.getElementById("app")!;
  app.replaceChildren();
  render(<Page story={data} />, app);
}
document.body.dataset.ready = "yes";
