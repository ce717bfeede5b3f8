// All that a story shows, for a page of its own and for the studio.
import type { ComponentChildren } from "preact";
import type { Story } from "./data";
import { Graph } from "./graph";
import { Moments } from "./moments";
import { Posterior } from "./posterior";
import { Ledger, Total } from "./receipts";
import { Statements } from "./statements";

function Section({ id, title, reading, children }: { id: string; title: string; reading: string; children: ComponentChildren }) {
  return <section id={id}><h2>{title}</h2><p class="reading">{reading}</p>{children}</section>;
}

export function StoryParts({ story }: { story: Story }) {
  const { unit, updates } = story;
  const decision = story.moments.length === 1 && story.moments[0]!.kind === "decided";
  const hypotheses = updates.some((update) => Object.keys(update.explanations).length);
  return (
    <>
      {story.receipts.length > 0 && <Total receipts={story.receipts} unit={unit} />}
      {story.moments.length > 0 && (
        <Section
          id="happened" title={decision ? "The decision" : "What happened"}
          reading={`${decision ? "Each" : "Time runs down the page. Under a decision, each"} bar is what an alternative is expected to cost more than the best; what all cost anyway is grey.`}
        >
          <Moments moments={story.moments} unit={unit} began={decision ? null : story.began} />
        </Section>
      )}
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
