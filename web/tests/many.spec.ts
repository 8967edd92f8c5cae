// Lists of any length and graphs of any size are read without waiting, and without filling the page.

import { expect, go, test } from './support/story';

test.use({
  config: `
limits: {calls_per_minute: 1000000}
agents:
  - {name: parrot, kind: echo}
`,
});

const MANY = Number(process.env['NUNCIO_MANY'] ?? 600);

test('many tasks scroll, and the newest come in by themselves', async ({ hub, canvas }) => {
  test.setTimeout(300_000);
  await hub.say('parrot', 'the first of all');
  await expect
    .poll(
      async () => (await hub.call<{ total: number }>('GET', '/api/v1/tasks?state=completed')).total,
    )
    .toBe(1);
  const left = Array.from({ length: MANY - 1 }, (_, index) => index);
  const work = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      await hub.say('parrot', `task ${next}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));

  await go(canvas, hub, '/tasks');
  const list = canvas.getByRole('list', { name: 'Tasks' });
  await expect(canvas.getByText(MANY.toLocaleString('en'), { exact: true })).toBeVisible();
  expect(await list.getByRole('listitem').count()).toBeLessThan(60);

  await expect
    .poll(
      async () => {
        await list.evaluate((box) => box.scrollTo(0, box.scrollHeight));
        return list.getByText('the first of all').count();
      },
      { timeout: 120_000, intervals: [50] },
    )
    .toBe(1);
  expect(await list.getByRole('listitem').count()).toBeLessThan(60);

  await list.evaluate((box) => box.scrollTo(0, 0));
  await hub.say('parrot', 'the newest of all');
  await expect(list.getByRole('listitem').first()).toContainText('the newest of all');
});

/** Fifty rows of ten steps, each row after another. */
function large(): string {
  const nodes = ['  - {id: start, type: input}'];
  const edges: string[] = [];
  for (let row = 0; row < 50; row += 1) {
    for (let step = 0; step < 10; step += 1) {
      const id = `r${row}s${step}`;
      nodes.push(`  - {id: ${id}, type: external, config: {agent: parrot, prompt: "{{start}}"}}`);
      edges.push(`  - {from: ${step === 0 ? 'start' : `r${row}s${step - 1}`}, to: ${id}}`);
    }
  }
  return `name: large\nnodes:\n${nodes.join('\n')}\nedges:\n${edges.join('\n')}\n`;
}

test('five hundred steps are drawn, moved and changed', async ({ hub, canvas }) => {
  test.setTimeout(300_000);
  await hub.call('PUT', '/api/v1/workflows/large', { source: large() });
  await go(canvas, hub, '/workflows/large');
  const boxes = canvas.locator('.svelte-flow__node');
  await expect(canvas.locator('.svelte-flow__minimap-node')).toHaveCount(501, { timeout: 60_000 });
  await expect(boxes.first()).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/workflow-large.png' });
  const name = await boxes.first().locator('strong').boundingBox();
  expect(name?.height, 'it can be read where it begins').toBeGreaterThan(9);

  // Near by, only what is seen is there.
  const pane = await canvas.locator('.svelte-flow__pane').boundingBox();
  if (!pane) throw new Error('there is no canvas');
  await canvas.mouse.move(pane.x + pane.width / 2, pane.y + pane.height / 2);
  await expect(async () => {
    await canvas.mouse.wheel(0, -400);
    expect(await boxes.count()).toBeLessThan(60);
  }).toPass();
  expect(await boxes.count()).toBeGreaterThan(0);

  // One that is seen whole.
  const seen = await boxes.evaluateAll(
    (all, pane) =>
      all.findIndex((one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        const [x, y] = [pane.x + pane.width - 320, pane.y + pane.height];
        return left > pane.x && right < x && top > pane.y && bottom < y;
      }),
    pane,
  );
  await boxes.nth(seen).click();
  await canvas.getByLabel('name', { exact: true }).fill('renamed');
  await canvas.keyboard.press('Tab');
  await expect(canvas.getByText('not saved')).toBeVisible();
  await canvas.getByRole('button', { name: 'Undo' }).click();
  await expect(canvas.getByText('not saved')).toHaveCount(0);
});
