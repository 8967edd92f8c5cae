// What somebody reads or writes stays, whatever happens around it; and nobody is offered what the hub
// would refuse.

import { CASHIER, expect, go, test, WRITER } from './support/story';

test.use({ config: 'agents: [{name: parrot, kind: echo, role: Says it again}]\n' });

test('a question that comes in does not take the place of the one that is read', async ({
  hub,
  canvas,
}) => {
  await hub.mock(CASHIER);
  const first = await hub.say('cashier', '40 EUR');
  await go(canvas, hub, '/inbox');
  const question = canvas.getByRole('region', { name: 'Question' });
  const list = canvas.getByRole('list', { name: 'Questions' });
  await expect(question).toContainText('May I pay 40 EUR?');
  await canvas.getByLabel('Your answer').fill('because it');

  await hub.say('cashier', '9,000 EUR');
  await expect(list.getByRole('button')).toHaveCount(2);
  await expect(list.getByRole('button').first()).toContainText('9,000 EUR');
  await expect(question).toContainText('May I pay 40 EUR?');
  await expect(canvas.getByLabel('Your answer')).toHaveValue('because it');
  await canvas.getByRole('button', { name: 'Approve' }).click();

  // The next one is chosen, with nothing written yet.
  await expect(question).toContainText('May I pay 9,000 EUR?');
  await expect(canvas.getByLabel('Your answer')).toHaveValue('');
  await expect
    .poll(async () => (await hub.call<{ state: string }>('GET', `/api/v1/tasks/${first.id}`)).state)
    .toBe('TASK_STATE_COMPLETED');
});

test('what is being written outlives a restart of the hub', async ({ hub, canvas, context }) => {
  await canvas.setViewportSize({ width: 390, height: 844 });
  await go(canvas, hub, '/playground?agent=parrot');
  await expect(canvas.getByText('Say something to parrot')).toBeVisible();
  await canvas.getByLabel('Message', { exact: true }).fill('a long letter');
  await hub.kill();
  await expect(
    canvas.getByText(/The hub does not answer; what you see is from \d\d:\d\d/),
  ).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/lost-phone.png' });

  await hub.up();
  const login = canvas.getByRole('dialog', { name: 'Log in' });
  await expect(login).toBeVisible({ timeout: 40_000 });
  await canvas.keyboard.press('Escape');
  await canvas.keyboard.press('Escape');
  await expect(login).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/login-again-phone.png' });

  const other = await context.newPage();
  await other.goto(await hub.login());
  await other.close();
  await expect(login).toHaveCount(0);
  await expect(canvas.getByText(/The hub does not answer/)).toHaveCount(0);
  await expect(canvas.getByLabel('Message', { exact: true })).toHaveValue('a long letter');
  await canvas.keyboard.press('Tab');
  await canvas.getByRole('button', { name: 'Send' }).click();
  await expect(canvas.getByRole('region', { name: 'Chat' }).getByText('completed')).toBeVisible();
});

test('a talk is there again after a reload', async ({ hub, canvas }) => {
  await hub.mock(WRITER.replace('delay: 150ms', 'delay: 1s'));
  await go(canvas, hub, '/playground?agent=writer&say=otters');
  await canvas.getByRole('button', { name: 'Send' }).click();
  await expect(canvas).toHaveURL(/[?&]task=/);
  await canvas.reload();
  const talk = canvas.getByRole('region', { name: 'Chat' });
  await expect(talk.getByText('streaming')).toBeVisible();
  await expect(talk.getByText('Done.', { exact: true })).toBeVisible({ timeout: 30_000 });
  await expect(canvas.getByLabel('Message', { exact: true })).toHaveValue('');
  await canvas.getByRole('button', { name: 'New chat' }).click();
  await expect(canvas).not.toHaveURL(/[?&]task=/);
  await expect(canvas.getByText('Say something to writer')).toBeVisible();
});

test('leaving a page asks for nothing without a name', async ({ hub, canvas }) => {
  const { id } = await hub.say('parrot', 'hello');
  const nameless: string[] = [];
  canvas.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/\/(agents|tasks|runs|workflows)\/(\/|$)|undefined/.test(pathname)) nameless.push(pathname);
  });
  for (const path of ['/agents/parrot', `/tasks/${id}`, `/runs/${id}`, '/workflows/none']) {
    await go(canvas, hub, path);
    await canvas.waitForTimeout(300);
    await canvas.getByRole('link', { name: 'Home' }).click();
    await expect(canvas.getByRole('heading', { level: 1, name: 'Home' })).toBeVisible();
  }
  expect(nameless).toEqual([]);
});

test('an agent that the hub runs itself is not called broken', async ({ hub, canvas }) => {
  await go(canvas, hub, '/agents/parrot');
  await expect(canvas.getByText('run by the hub', { exact: true })).toBeVisible();
  await expect(canvas.getByText('no-interface')).toHaveCount(0);
  await canvas.getByRole('tab', { name: 'Doctor' }).click();
  await expect(canvas.getByText('The hub runs this agent itself')).toBeVisible();
  await expect(canvas.getByRole('button', { name: 'Examine' })).toHaveCount(0);
});

test('whoever may only look is told so, not refused', async ({ hub, page }) => {
  const { key } = await hub.call<{ key: string }>('POST', '/api/v1/keys', {
    name: 'ann',
    scopes: ['read'],
  });
  await hub.mock(CASHIER);
  await hub.say('cashier', '40 EUR');
  const source = 'name: shout\nnodes: [{id: words, type: input}, {id: out, type: output}]\n';
  await hub.call('PUT', '/api/v1/workflows/shout', {
    source: `${source}edges: [{from: words, to: out}]\n`,
  });
  const { url } = await hub.call<{ url: string }>('POST', '/api/v1/login', undefined, key);
  await page.goto(new URL(`/login${new URL(url).search}`, hub.url).href);

  await go(page, hub, '/inbox');
  await expect(page.getByRole('region', { name: 'Question' })).toContainText('You may look');
  await expect(page.getByRole('button', { name: 'Approve' })).toHaveCount(0);
  await go(page, hub, '/workflows');
  await expect(page.getByRole('link', { name: 'shout' })).toBeVisible();
  await expect(page.getByRole('button', { name: /Run|Remove/ })).toHaveCount(0);
  await go(page, hub, '/workflows/shout?run=ask');
  await expect(page.getByRole('dialog')).toContainText('You may look');
  await expect(page.getByRole('dialog').getByRole('button', { name: 'Run' })).toBeDisabled();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('button', { name: 'Run', exact: true })).toBeDisabled();
  await go(page, hub, '/playground?agent=cashier');
  await page.getByLabel('Message', { exact: true }).fill('hello');
  await expect(page.getByText('You may look')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Send' })).toBeDisabled();
});

test('a phone shows tables, the menu and the beginning of a graph', async ({ hub, canvas }) => {
  await canvas.setViewportSize({ width: 390, height: 844 });
  await hub.call('PUT', '/api/v1/rules/no-payments', {
    effect: 'deny',
    caller: { agent: 'parrot' },
    target: { agent: 'parrot' },
    note: 'four eyes, see the handbook',
  });
  await go(canvas, hub, '/access?tab=rules');
  const rules = canvas.getByRole('region', { name: 'Rules' });
  await rules.focus();
  await expect(rules).toBeFocused();
  const name = await rules.getByText('no-payments').boundingBox();
  expect(name?.height).toBeLessThan(30);

  const menu = canvas.getByRole('button', { name: 'Menu' });
  await menu.click();
  await expect(canvas.getByRole('link', { name: 'Inbox' })).toBeVisible();
  await canvas.keyboard.press('Escape');
  await expect(canvas.getByRole('link', { name: 'Inbox' })).toBeHidden();

  const steps = Array.from({ length: 6 }, (_, index) => `step-${index}`);
  const nodes = steps.map((id) => `  - {id: ${id}, type: external, config: {agent: parrot}}`);
  const edges = steps.slice(1).map((id, index) => `  - {from: step-${index}, to: ${id}}`);
  await hub.call('PUT', '/api/v1/workflows/long', {
    source: ['name: long', 'nodes:', ...nodes, 'edges:', ...edges, ''].join('\n'),
  });
  await go(canvas, hub, '/workflows/long');
  await expect(canvas.locator('[data-id="step-0"]')).toBeInViewport({ ratio: 1 });
});

test('a dialog begins at its first field, and gives the focus back', async ({ hub, canvas }) => {
  await go(canvas, hub, '/access?tab=keys');
  const open = canvas.getByRole('button', { name: 'New key' });
  await open.click();
  await expect(canvas.getByRole('dialog').locator('input, select, textarea').first()).toBeFocused();
  await canvas.keyboard.press('Escape');
  await expect(open).toBeFocused();
});
