// A hub with something to see: a newsroom at work, with successes, failures, questions and runs.

import { expect } from '@playwright/test';

import type { Hub } from './hub';
import { CASHIER, WRITER } from './story';

export const CONFIG = `
limits: {calls_per_minute: 100000}
agents:
  - {name: editor, kind: echo, role: Leads the newsroom}
  - {name: factcheck, kind: command, command: [tr, a-z, A-Z], parent: editor, role: Checks every claim}
  - {name: layout, kind: echo, parent: editor, role: Sets pages}
  - {name: printer, kind: command, command: [sh, -c, "echo out of paper >&2; exit 3"], role: Prints}
`;

const RESEARCHER = `
card:
  name: researcher
  description: Reads the archive, and says what it finds
  version: 2.3.0
  skills:
    - {id: search, name: Search, description: Finds sources on any topic, tags: [archive, search], examples: [sources on river otters]}
    - {id: summarise, name: Summarise, description: Sums up a source, tags: [text], examples: [sum up the last annual report]}
otherwise:
  - say: reading the archive about {{text}}
  - artifact:
      name: notes.md
      text: "# Notes on {{text}}\\n\\nThe archive holds **214 articles** since 1987. Most of them speak about rivers, a few about the sea.\\n\\n- 41 of them cite field studies\\n- 12 contradict each other\\n\\nWhat follows is a summary of the ten that are cited most, with their sources."
      chunks: 400
      delay: 400ms
`;

const FLAKY = `
card:
  name: translator
  description: Translates between twelve languages
  skills: [{id: translate, name: Translate, description: Translates a text, tags: [text, language]}]
rules:
  - when: {contains: Hungarian}
    then: [{fail: "the upstream model answered 503 three times"}]
  - when: {contains: legal}
    then: [{state: rejected, text: "legal texts are not translated without a review"}]
otherwise: [{artifact: {name: translation, text: "Traduit: {{text}}"}}]
`;

const ARCHIVE =
  '{card: {name: archive, description: Keeps every issue since 1987, skills: [{id: fetch, name: Fetch, description: Fetches an issue, tags: [archive]}]}, versions: ["0.3"]}';

export const ISSUE = `name: morning-issue
description: Researches, writes, checks and prints the morning issue
nodes:
  - {id: topic, type: input, config: {prompt: What is the lead story about?}}
  - {id: research, type: external, config: {agent: researcher, prompt: "{{topic}}"}, group: words}
  - {id: draft, type: external, config: {agent: writer, prompt: "{{topic}}"}, group: words}
  - {id: pictures, type: external, config: {agent: layout, prompt: "Pictures for {{topic}}"}, group: pages}
  - {id: check, type: external, config: {agent: factcheck, prompt: "{{draft}}"}, group: words}
  - {id: translate, type: external, config: {agent: translator, prompt: "{{draft}}"}}
  - {id: pages, type: external, config: {agent: layout, prompt: "{{check}} {{pictures}}"}, group: pages}
  - {id: ok, type: approval, config: {prompt: "May it go to print?\\n\\n{{draft}}"}}
  - {id: print, type: external, config: {agent: printer, prompt: "{{pages}}"}}
  - {id: apologise, type: external, config: {agent: editor, prompt: "No paper today: {{print.error}}"}}
  - {id: out, type: output}
edges:
  - {from: topic, to: draft}
  - {from: topic, to: research}
  - {from: topic, to: pictures}
  - {from: draft, to: check}
  - {from: draft, to: translate}
  - {from: check, to: pages}
  - {from: pictures, to: pages}
  - {from: pages, to: ok}
  - {from: ok, to: print, condition: "ok == 'approve'"}
  - {from: print, to: apologise, trigger_rule: on_failure}
  - {from: print, to: out}
  - {from: translate, to: out}
  - {from: apologise, to: out, trigger_rule: always}
groups:
  - {id: words, label: Words, color: teal}
  - {id: pages, label: Pages, color: orange}
`;

export interface Newsroom {
  /** A poem that is done. */
  poem: string;
  /** Research that goes on for minutes. */
  research: string;
  /** A task that failed. */
  failed: string;
  /** A task with calls below it. */
  tree: string;
  /** A run that goes on. */
  running: string;
  /** A run that waits for an answer. */
  waits: string;
  /** A run that failed. */
  broken: string;
}

export async function furnish(hub: Hub): Promise<Newsroom> {
  await hub.mock(WRITER.replace('delay: 150ms', 'delay: 20ms'), {
    parent: 'editor',
    role: 'Writes the lead story',
  });
  await hub.mock(RESEARCHER, { parent: 'editor' });
  await hub.mock(FLAKY, { parent: 'editor', role: 'Translates for the foreign editions' });
  await hub.mock('{card: {name: controller, description: Watches the budget}}', {
    role: 'Watches the budget',
  });
  await hub.mock(CASHIER, { parent: 'controller', role: 'Pays bills, and asks before it does' });
  await hub.mock(ARCHIVE);

  const { key } = await hub.call<{ key: string }>('POST', '/api/v1/agents/editor/tokens');
  const poem = await hub.say('writer', 'otters', key);
  await hub.say('factcheck', 'otters hold hands while they sleep', key);
  await hub.say('archive', 'the issue of 12 May 1994');
  await hub.say('translator', 'Translate the lead story to French', key);
  const failed = await hub.say('translator', 'Translate the lead story to Hungarian', key);
  await hub.say('translator', 'Translate the legal notice');
  await hub.say('cashier', '40 EUR to the plumber');
  await hub.say('cashier', '1,200 EUR to the roofer');
  const research = await hub.say('researcher', 'otters in the city', key);
  await hub.call('PUT', '/api/v1/rules/no-payments', {
    effect: 'deny',
    caller: { agent: 'writer' },
    target: { agent: 'cashier' },
    skills: ['pay'],
    note: 'four eyes, see the handbook',
  });
  await hub.call('POST', '/api/v1/keys', { name: 'ann', scopes: ['read'] });
  const runs = await workflows(hub);
  return { poem: poem.id, research: research.id, failed: failed.id, ...runs };
}

async function workflows(
  hub: Hub,
): Promise<Pick<Newsroom, 'tree' | 'running' | 'waits' | 'broken'>> {
  const put = (name: string, source: string) =>
    hub.call('PUT', `/api/v1/workflows/${name}`, { source });
  await put('morning-issue', ISSUE);
  const quick = ISSUE.replace('name: morning-issue', 'name: evening-issue').replace(
    /\n {2}- \{(id: research|from: topic, to: research).*/g,
    '',
  );
  await put('evening-issue', quick.replace('morning issue', 'evening issue'));
  await put('evening-issue', quick.replace('morning issue', 'evening issue, without research'));
  const start = (name: string) =>
    hub.call<{ id: string }>('POST', `/api/v1/workflows/${name}/runs`, {
      inputs: { topic: 'otters' },
    });
  const state = async (id: string) =>
    (await hub.call<{ state: string }>('GET', `/api/v1/runs/${id}`)).state;
  const [broken, waits, running] = [
    await start('evening-issue'),
    await start('evening-issue'),
    await start('morning-issue'),
  ];
  for (const run of [broken, waits]) await expect.poll(() => state(run.id)).toBe('input_required');
  await hub.call('POST', `/api/v1/runs/${broken.id}/nodes/ok/answer`, { text: 'approve' });
  await expect.poll(() => state(broken.id)).toMatch(/completed|failed/);
  return { tree: broken.id, running: running.id, waits: waits.id, broken: broken.id };
}
