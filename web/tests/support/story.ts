// What every story begins with: a hub, and a browser that is let in.

import { test as base, type Page } from '@playwright/test';

import { Hub } from './hub';

interface World {
  config: string;
  hub: Hub;
  /** A page of a browser that was let in by a link. */
  canvas: Page;
}

export const test = base.extend<World>({
  config: ['', { option: true }],
  hub: async ({ config }, use) => {
    const hub = await Hub.start(config);
    await use(hub);
    await hub.stop();
  },
  canvas: async ({ hub, page }, use) => {
    await enter(page, hub);
    await use(page);
  },
});

/** Opens the link of `nuncio login`, then the canvas. */
export async function enter(page: Page, hub: Hub): Promise<void> {
  await page.goto(await hub.login());
  await page.goto(hub.url);
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
}

/** Goes to a view by its link. */
export async function go(page: Page, hub: Hub, path: string): Promise<void> {
  await page.goto(`${hub.url}#${path}`);
}

export { expect } from '@playwright/test';

export const WRITER = `
card:
  name: writer
  description: Writes poems, in pieces
  skills:
    - {id: write, name: Write, description: Writes a poem, tags: [text, poems], examples: [a poem about otters]}
otherwise:
  - say: thinking about {{text}}
  - artifact:
      name: poem.md
      text: "# On {{text}}\\n\\nOtters are **semi-aquatic**, they *play* in rivers, and hold hands while they sleep.\\n\\n- one otter\\n- two otters\\n\\nSee https://example.com/otters for more."
      chunks: 12
      delay: 150ms
  - state: completed
    text: Done.
`;

export const CASHIER = `
card:
  name: cashier
  description: Pays bills, and asks before it does
  skills:
    - {id: pay, name: Pay, description: Pays a bill, tags: [money]}
otherwise:
  - say: looking at the bill
  - ask: "May I pay {{text}}?"
  - artifact: {name: receipt, data: {paid: true, answer: "{{input}}"}}
  - state: completed
    text: Paid.
`;
