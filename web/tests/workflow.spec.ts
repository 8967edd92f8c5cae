// Workflows: drawn, checked, run, answered, run again.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Locator, Page } from '@playwright/test';

import type { Hub } from './support/hub';
import { enter, expect, go, test, WRITER } from './support/story';

test.use({
  config: `
agents:
  - {name: upper, kind: command, command: [tr, a-z, A-Z], role: Shouts}
  - {name: moody, kind: command, command: [sh, -c, "test -f ready && cat"], role: Works when it is ready}
`,
});

const THREE = `# Shouts what it is told.
name: shout
nodes:
  - {id: words, type: input, config: {prompt: What shall be shouted?}}

  # the one that does it
  - {id: shouted, type: external, config: {agent: upper, prompt: "{{words}}"}}
  - {id: out, type: output}   # and nothing else
edges:
  - {from: words, to: shouted}
  - {from: shouted, to: out}
`;

function store(hub: Hub, name: string, source: string): Promise<unknown> {
  return hub.call('PUT', `/api/v1/workflows/${name}`, { source });
}

function step(page: Page, id: string): Locator {
  return page.locator(`.svelte-flow__node[data-id="${id}"]`);
}

/** Draws from the dot at the right side of one step to that at the left side of another. */
async function draw(page: Page, from: string, to: string): Promise<void> {
  const start = await middle(step(page, from).locator('.svelte-flow__handle.source'));
  const end = await middle(step(page, to).locator('.svelte-flow__handle.target'));
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 5 });
  await page.mouse.move(end.x, end.y, { steps: 5 });
  await page.mouse.up();
}

async function middle(what: Locator): Promise<{ x: number; y: number }> {
  const box = await what.boundingBox();
  if (!box) throw new Error('not on the page');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** What the head of a run says of it. */
function stands(page: Page, state: string): Locator {
  return page.locator('main header').getByText(state, { exact: true });
}

function code(page: Page): Locator {
  return page.getByRole('textbox', { name: 'The workflow as YAML' });
}

test('three steps are drawn by mouse, run, and seen to finish', async ({ hub, canvas: page }) => {
  await go(page, hub, '/new-workflow');
  const pane = page.locator('.svelte-flow__pane');
  const drag = (name: string, x: number, y: number) =>
    page.getByRole('button', { name, exact: true }).dragTo(pane, { targetPosition: { x, y } });
  await drag('input', 120, 120);
  await drag('upper', 300, 220);
  await drag('output', 480, 320);
  await draw(page, 'input', 'upper');
  await draw(page, 'upper', 'output');
  await expect(page.locator('.svelte-flow__edge')).toHaveCount(2);
  await expect(page.getByText('No problems')).toBeVisible();

  await page.getByRole('tab', { name: 'Code' }).click();
  await expect(code(page)).toHaveValue(
    /- \{from: input, to: upper\}\n {2}- \{from: upper, to: output\}/,
  );
  await expect(code(page)).toHaveValue(
    /id: upper\n {4}type: external\n {4}config:\n {6}agent: upper/,
  );

  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('input').fill('otters float');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(stands(page, 'completed')).toBeVisible();
  await expect(step(page, 'output')).toContainText('OTTERS FLOAT');
  await step(page, 'upper').click();
  await expect(page.getByRole('heading', { name: 'Output' })).toBeVisible();
  await expect(page.getByRole('complementary').last()).toContainText('OTTERS FLOAT');
});

test('what an agent says is seen in its box while it speaks', async ({ hub, canvas: page }) => {
  await hub.mock(WRITER.replace('delay: 150ms', 'delay: 500ms'));
  await store(
    hub,
    'poem',
    THREE.replaceAll('upper', 'writer').replace('name: shout', 'name: poem'),
  );
  const run = await hub.call<{ id: string }>('POST', '/api/v1/workflows/poem/runs', {
    inputs: { words: 'otters' },
  });
  await go(page, hub, `/runs/${run.id}`);
  await expect(step(page, 'shouted').locator('.running')).toContainText(/otter/);
  await expect(stands(page, 'completed')).toBeVisible();
  await step(page, 'shouted').click();
  const panel = page.getByRole('complementary').last();
  await expect(panel).toContainText('Input');
  await expect(panel.getByText('On otters', { exact: true })).toBeVisible();
});

test('what is wrong is said on the step while it is typed', async ({ hub, canvas: page }) => {
  await store(hub, 'shout', THREE);
  await go(page, hub, '/workflows/shout');
  await step(page, 'shouted').click();
  await page.getByLabel('agent', { exact: true }).fill('');
  await expect(step(page, 'shouted')).toContainText('error:');
  await expect(page.getByRole('button', { name: 'Run', exact: true })).toBeDisabled();

  await page.getByRole('button', { name: /1 error/ }).click();
  await page.getByRole('tab', { name: 'Code' }).click();
  await page.locator('.findings button').first().click();
  await expect(page.locator('.gutter .error')).toHaveText('7');

  await page.getByRole('tab', { name: 'Canvas' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(step(page, 'shouted')).not.toContainText('error:');
});

test('what the canvas changes leaves comments and layout alone', async ({ hub, canvas: page }) => {
  await store(hub, 'shout', THREE);
  await go(page, hub, '/workflows/shout');
  await step(page, 'shouted').click();
  await page.getByLabel('name', { exact: true }).fill('loud');
  await page.keyboard.press('Tab');
  await expect(step(page, 'loud')).toBeVisible();
  await page.getByRole('tab', { name: 'Code' }).click();
  await expect(code(page)).toHaveValue(
    THREE.replaceAll('shouted', 'loud').replace('What shall be loud', 'What shall be shouted'),
  );

  // And the other way round: what is written is drawn.
  await code(page).fill(
    THREE.replace('{id: out, type: output}', '{id: end, type: output}').replace(
      'to: out',
      'to: end',
    ),
  );
  await page.getByRole('tab', { name: 'Canvas' }).click();
  await expect(step(page, 'end')).toBeVisible();
  await expect(page.locator('.svelte-flow__edge')).toHaveCount(2);
});

test('keys undo, redo, copy, paste and remove', async ({ hub, canvas: page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await store(hub, 'shout', THREE);
  await go(page, hub, '/workflows/shout');
  await step(page, 'shouted').click();
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Control+v');
  await expect(step(page, 'shouted_2')).toBeVisible();
  await page.keyboard.press('Delete');
  await expect(step(page, 'shouted_2')).toHaveCount(0);
  await page.keyboard.press('Control+z');
  await expect(step(page, 'shouted_2')).toBeVisible();
  await page.keyboard.press('Control+z');
  await expect(step(page, 'shouted_2')).toHaveCount(0);
  await page.keyboard.press('Control+Shift+z');
  await expect(step(page, 'shouted_2')).toBeVisible();
});

test('two who edit at once do not overwrite each other', async ({ hub, canvas: page }) => {
  await store(hub, 'shout', THREE);
  await go(page, hub, '/workflows/shout');
  await expect(step(page, 'shouted')).toBeVisible();
  await store(hub, 'shout', THREE.replace('Shouts what', 'Cries what'));
  await page.getByRole('tab', { name: 'Code' }).click();
  await code(page).fill(THREE.replace('Shouts what', 'Yells what'));
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Somebody saved a newer version')).toBeVisible();
  await expect(code(page)).toHaveValue(/Yells what/);

  await page.getByRole('tab', { name: 'Versions' }).click();
  await page.getByRole('button', { name: /Version 2/ }).click();
  await expect(page.locator('.diff .added')).toHaveText('+ # Cries what it is told.');
});

test('a failed run goes on from the step that failed', async ({ hub, canvas: page }) => {
  await store(hub, 'mood', THREE.replaceAll('upper', 'moody').replaceAll('shout', 'mood'));
  const run = await hub.call<{ id: string }>('POST', '/api/v1/workflows/mood/runs', {
    inputs: { words: 'be kind' },
  });
  await go(page, hub, `/runs/${run.id}`);
  await expect(stands(page, 'failed')).toBeVisible();
  await writeFile(join(hub.folder, 'ready'), '');

  await step(page, 'mooded').click();
  await page.getByRole('button', { name: 'Run again from here' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click();
  await expect(page.getByText('re-run of an earlier run')).toBeVisible();
  await expect(stands(page, 'completed')).toBeVisible();
  await expect(step(page, 'out')).toContainText('be kind');
});

test('a run that was opened before its first word is drawn with it', async ({
  hub,
  canvas: page,
}) => {
  await store(hub, 'shout', THREE);
  const run = await hub.call<{ id: string }>('POST', '/api/v1/workflows/shout/runs', {
    inputs: { words: 'hello' },
  });
  // What the hub says of a run between its task and its first word.
  const early = { seq: 1, state: 'submitted', version: 0, nodes: [], inputs: {}, ended_at: null };
  await page.route(
    `**/api/v1/runs/${run.id}`,
    async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: { ...(await answer.json()), ...early } });
    },
    { times: 1 },
  );
  await go(page, hub, `/runs/${run.id}`);
  await expect(step(page, 'out')).toContainText('HELLO');
  await expect(stands(page, 'completed')).toBeVisible();
});

test('a question is answered where the run waits', async ({ hub, canvas: page }) => {
  const asks = THREE.replace(
    '  - {id: out,',
    '  - {id: may, type: approval, config: {prompt: "May {{shouted}} go out?", options: [yes please, reject]}}\n  - {id: out,',
  ).replace('to: out', 'to: may}\n  - {from: may, to: out');
  await store(hub, 'asks', asks.replace('name: shout', 'name: asks'));
  const run = await hub.call<{ id: string }>('POST', '/api/v1/workflows/asks/runs', {
    inputs: { words: 'it' },
  });
  await go(page, hub, `/runs/${run.id}`);
  await expect(page.getByText('May IT go out?').first()).toBeVisible();
  await page.getByRole('button', { name: 'yes please' }).click();
  await expect(stands(page, 'completed')).toBeVisible();

  await go(page, hub, '/runs?state=completed');
  await expect(page.getByRole('row')).toHaveCount(2);
  await go(page, hub, '/runs?state=failed');
  await expect(page.getByText('No such runs')).toBeVisible();
});

test('a run outlives the death of the hub, and its page says what is the matter', async ({
  hub,
  canvas: page,
}) => {
  const slow = THREE.replace(
    '{id: out,',
    '{id: pause, type: wait, config: {for: 4s}}\n  - {id: out,',
  )
    .replace('to: out', 'to: pause}\n  - {from: pause, to: out')
    .replace('name: shout', 'name: slow');
  await store(hub, 'slow', slow);
  const run = await hub.call<{ id: string }>('POST', '/api/v1/workflows/slow/runs', {
    inputs: { words: 'still here' },
  });
  await go(page, hub, `/runs/${run.id}`);
  await expect(step(page, 'shouted')).toContainText('STILL HERE');
  await hub.kill();
  await expect(page.getByText('reconnecting …', { exact: true })).toBeVisible();
  await hub.up();
  // A hub that was started anew knows no browser any more; the run it knows.
  await enter(page, hub);
  await go(page, hub, `/runs/${run.id}`);
  await expect(stands(page, 'completed')).toBeVisible({ timeout: 45_000 });
  await expect(step(page, 'out')).toContainText('STILL HERE');
});

test('nothing that a file or an agent says is executed', async ({ hub, canvas: page }) => {
  const evil = `<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>`;
  const file = {
    name: 'evil',
    description: evil,
    nodes: [
      { id: 'words', type: 'input', config: { prompt: evil, label: evil } },
      {
        id: 'shouted',
        type: 'external',
        config: { agent: 'upper', prompt: '{{words}}', description: evil, label: `"]'${evil}` },
        group: evil,
      },
      { id: 'out', type: 'output' },
    ],
    edges: [
      { from: 'words', to: 'shouted', condition: `words != '${evil.replaceAll('"', '')}'` },
      { from: 'shouted', to: 'out' },
    ],
  };
  await store(hub, 'evil', JSON.stringify(file, null, 2));
  const says = `${evil} [click](javascript:window.hacked=3) ![x](javascript:window.hacked=4)`;
  const run = await hub.call<{ id: string }>('POST', '/api/v1/workflows/evil/runs', {
    inputs: { words: says },
  });
  for (const path of [
    '/workflows',
    '/workflows/evil',
    '/workflows/evil?tab=code',
    `/runs/${run.id}`,
  ]) {
    await go(page, hub, path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  }
  await expect(stands(page, 'completed')).toBeVisible();
  await step(page, 'shouted').click();
  await expect(page.getByRole('heading', { name: 'Output' })).toBeVisible();
  await expect(page.locator('main img, main script, main a[href^="javascript"]')).toHaveCount(0);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
});
