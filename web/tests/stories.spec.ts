// What people do with the canvas, in a real browser against a real hub.

import { CASHIER, enter, expect, go, test, WRITER } from './support/story';

const POEM = 'Otters are semi-aquatic, they play in rivers, and hold hands while they sleep.';

test('a link lets a browser in, once', async ({ hub, page, context }) => {
  await page.goto(hub.url);
  await expect(page.getByText('nuncio login', { exact: true })).toBeVisible();
  const link = await hub.login();
  await page.goto(link);
  await page.goto(hub.url);
  await expect(page.getByRole('heading', { level: 1, name: 'Home' })).toBeVisible();
  const second = await context.newPage();
  await second.goto(link);
  await expect(second.getByText('This link does not let anybody in')).toBeVisible();
  await expect(second.getByText('nuncio login', { exact: true })).toBeVisible();
  await second.screenshot({ path: 'screenshots/used-link.png' });
  await second.getByRole('link', { name: 'go on' }).click();
  await second.waitForURL(/\/ui\//);
});

test('a talk streams, and is the same after a cut', async ({ hub, canvas }) => {
  // So slow that even a busy machine looks in time.
  await hub.mock(WRITER.replace('delay: 150ms', 'delay: 1s'));
  await go(canvas, hub, '/playground?agent=writer');
  await canvas.getByLabel('Message', { exact: true }).fill('otters');
  await canvas.keyboard.press('Enter');

  const talk = canvas.getByRole('region', { name: 'Chat' });
  const events = canvas.getByRole('list', { name: 'Events' });
  await expect(talk.getByText('thinking about otters')).toBeVisible();
  // The text grows before it is whole.
  await expect(talk.getByText('On otters')).toBeVisible();
  await expect(talk.getByText('for more.')).toHaveCount(0);
  await canvas.getByRole('button', { name: 'Disconnect' }).click();
  await expect(canvas.getByText(/disconnected after event \d+; the task continues/)).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/playground-cut.png' });
  const seen = await events.getByRole('listitem').count();
  expect(seen).toBeLessThan(15);

  // The agent ends without us; nothing is missed, and nothing comes twice.
  const [task] = await tasksOf(hub, 'writer');
  await expect
    .poll(async () => (await tasksOf(hub, 'writer'))[0]?.state)
    .toBe('TASK_STATE_COMPLETED');
  await canvas.getByRole('button', { name: 'Resume' }).click();
  await expect(talk.getByText('for more.')).toBeVisible();
  await expect(talk).toContainText(POEM);
  await expect(talk.getByText('Done.', { exact: true })).toHaveCount(1);
  // A stream that goes on begins with the task as it was there (A2A 1.0, 3.1.6).
  const rows = await events.getByRole('listitem').allInnerTexts();
  const lines = rows.reverse().map((row) => row.split(/\s+/));
  const numbers = lines
    .filter(([seq, , kind]) => kind !== 'task' || seq === '1')
    .map(([seq]) => Number(seq));
  expect(numbers).toEqual(Array.from({ length: 15 }, (_, index) => index + 1));

  await canvas.getByRole('tab', { name: 'Wire' }).click();
  await expect(canvas.getByText('Last-Event-ID', { exact: false }).first()).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/playground-wire.png' });
  await canvas.getByRole('link', { name: 'Task', exact: true }).click();
  await expect(canvas).toHaveURL(new RegExp(`#/tasks/${task?.id}`));
  await expect(canvas.getByText(POEM)).toBeVisible();
});

test('an agent speaks every form', async ({ hub, canvas }) => {
  await hub.mock('{card: {name: legacy, description: Speaks only 0.3}, versions: ["0.3"]}');
  for (const form of ['JSONRPC 1.0', 'HTTP+JSON 1.0', 'JSONRPC 0.3', 'HTTP+JSON 0.3']) {
    await go(canvas, hub, `/playground?agent=legacy&form=${encodeURIComponent(form)}`);
    await canvas.reload();
    await canvas.getByLabel('Message', { exact: true }).fill(`hello in ${form}`);
    await canvas.getByRole('button', { name: 'Send' }).click();
    const talk = canvas.getByRole('region', { name: 'Chat' });
    await expect(talk.getByText('completed').first()).toBeVisible();
    await expect(talk.getByText(`hello in ${form}`)).toHaveCount(2);
  }
});

test('what waits is answered, and who did is kept', async ({ hub, canvas }) => {
  await hub.mock(CASHIER);
  const first = await hub.say('cashier', '40 EUR');
  await expect(canvas.getByRole('link', { name: /Inbox/ })).toContainText('1');
  await canvas.getByRole('link', { name: /Inbox/ }).click();
  await expect(canvas.getByRole('region', { name: 'Question' })).toContainText('May I pay 40 EUR?');
  await canvas.getByLabel('Your answer').fill('yes, do');
  await canvas.getByRole('button', { name: 'Answer', exact: true }).click();
  await expect(canvas.getByText('Nothing is waiting for you')).toBeVisible();

  await go(canvas, hub, `/tasks/${first.id}`);
  await expect(canvas.getByText('completed').first()).toBeVisible();
  await expect(canvas.getByText('answered by user:administrator')).toBeVisible();

  const second = await hub.say('cashier', '1,200 EUR');
  await go(canvas, hub, '/inbox');
  await canvas.getByLabel('denying cancels the task').check();
  await canvas.getByRole('button', { name: 'Deny' }).click();
  await expect(canvas.getByText('Nothing is waiting for you')).toBeVisible();
  await expect
    .poll(async () => (await tasksOf(hub, 'cashier')).find((task) => task.id === second.id)?.state)
    .toMatch(/CANCELED|COMPLETED/);
});

test('a form of an agent becomes fields', async ({ hub, canvas }) => {
  await hub.call('POST', '/api/v1/agents', { name: 'booker', delivery: 'pull', card: CARD });
  const { key } = await hub.call<{ key: string }>('POST', '/api/v1/agents/booker/tokens');
  const { id } = await hub.say('booker', 'a table');
  await ask(hub, key, id);
  await go(canvas, hub, '/inbox');
  await canvas.getByLabel('Guests *').fill('4');
  await canvas.getByLabel('Where').selectOption('"inside"');
  await canvas.getByLabel('With a view').check();
  await canvas.screenshot({ path: 'screenshots/inbox-form.png' });
  await canvas.getByRole('button', { name: 'Answer', exact: true }).click();
  const work = await hub.call<{ request: unknown }>('GET', '/api/v1/work?wait=20', undefined, key);
  const said = JSON.stringify(work.request);
  expect(said).toContain('"guests":4');
  expect(said).toContain('"where":"inside"');
  expect(said).toContain('"view":true');
});

test('a place is what an agent may do', async ({ hub, canvas }) => {
  await hub.mock(CASHIER);
  await hub.mock('{card: {name: lead, description: Leads}}');
  await hub.mock('{card: {name: critic, description: Judges}}', { parent: 'lead' });
  await hub.mock(WRITER, { parent: 'lead' });
  const { key } = await hub.call<{ key: string }>('POST', '/api/v1/agents/critic/tokens');
  await hub.say('writer', 'otters', key);

  await go(canvas, hub, '/agents?view=chart');
  const writer = canvas.getByLabel('Agent writer, online');
  const cashier = canvas.getByLabel('Agent cashier, online');
  await expect(canvas.getByText('1 call', { exact: true })).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/chart-calls.png' });
  const [from, to] = [await writer.boundingBox(), await cashier.boundingBox()];
  if (!from || !to) throw new Error('the chart shows nobody');
  await canvas.mouse.move(from.x + 40, from.y + 20);
  await canvas.mouse.down();
  await canvas.mouse.move(from.x + 60, from.y + 30, { steps: 4 });
  await canvas.mouse.move(to.x + 50, to.y + 30, { steps: 12 });
  await canvas.mouse.up();

  const dialog = canvas.getByRole('dialog');
  await expect(dialog).toContainText('Move writer under cashier?');
  await expect(dialog).toContainText(/It can then call\s*cashier/);
  await expect(dialog).toContainText(/It can no longer call\s*critic\s*lead/);
  await canvas.screenshot({ path: 'screenshots/move.png' });
  await dialog.getByRole('button', { name: 'Move' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(hub.say('writer', 'otters', key)).rejects.toThrow(/404|403/);

  // The hub says why.
  await go(canvas, hub, '/access?caller=critic&target=writer');
  await expect(canvas.getByText('UNRELATED')).toBeVisible();
});

test('a line that breaks is told, and comes back by itself', async ({ hub, canvas }) => {
  await expect(canvas.getByText('Live', { exact: true })).toBeVisible();
  await hub.kill();
  await expect(canvas.getByText('Reconnecting …')).toBeVisible();
  await hub.up();
  // A hub that was started anew knows no browser any more, and says how to come back.
  await expect(canvas.getByText('nuncio login', { exact: true })).toBeVisible({ timeout: 40_000 });
  await enter(canvas, hub);
  await expect(canvas.getByText('Live', { exact: true })).toBeVisible();
});

test('agents come and go without a reload', async ({ hub, canvas }) => {
  await go(canvas, hub, '/agents');
  await expect(canvas.getByText('No agents yet')).toBeVisible();
  await hub.mock(WRITER);
  await expect(canvas.getByRole('link', { name: /writer/ })).toContainText('online');
  await hub.call('POST', '/api/v1/agents/writer/pause');
  await expect(canvas.getByRole('link', { name: /writer/ })).toContainText('paused');
});

test('an agent is looked at before it stays', async ({ hub, canvas }) => {
  const url = await hub.agent('{card: {name: hasty, description: "Pays\u200b at once"}}');
  await canvas.getByRole('link', { name: 'Add an agent' }).click();
  const dialog = canvas.getByRole('dialog');
  await dialog.getByRole('textbox', { name: /URL/ }).fill('http://127.0.0.1:1');
  const look = dialog.getByRole('button', { name: 'Look at its card' });
  await look.click();
  await expect(dialog.getByRole('alert')).toBeVisible();
  await dialog.getByRole('textbox', { name: /URL/ }).fill(url);
  await look.click();
  await expect(dialog.getByText('hidden-character').first()).toBeVisible();
  await expect(dialog.getByText('Pays⟨U+200B⟩ at once').first()).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/add-preview.png' });
  expect((await hub.call<{ agents: unknown[] }>('GET', '/api/v1/agents')).agents).toEqual([]);
  await dialog.getByLabel('Name').fill('swift');
  await dialog.getByRole('button', { name: 'Add agent' }).click();
  await expect(canvas.getByRole('heading', { level: 1, name: 'swift' })).toBeVisible();
});

test('tasks are ended together, or one without its calls', async ({ hub, canvas }) => {
  await hub.mock(CASHIER);
  const asked = ['40 EUR', '50 EUR', '60 EUR'];
  for (const text of asked) await hub.say('cashier', text);
  const states = async () => (await tasksOf(hub, 'cashier')).map((task) => task.state);
  await expect.poll(states).toEqual(asked.map(() => 'TASK_STATE_INPUT_REQUIRED'));

  await go(canvas, hub, '/tasks?agent=cashier');
  await canvas.getByLabel('Choose 40 EUR').check();
  await canvas.getByLabel('Choose 50 EUR').check();
  await expect(canvas.getByText('2 selected')).toBeVisible();
  await canvas.getByRole('button', { name: 'Cancel', exact: true }).click();
  await canvas.getByRole('button', { name: 'Cancel them' }).click();
  await expect(canvas.getByText('2 tasks canceled')).toBeVisible();
  await expect
    .poll(async () => (await states()).sort())
    .toEqual(['TASK_STATE_CANCELED', 'TASK_STATE_CANCELED', 'TASK_STATE_INPUT_REQUIRED']);

  await canvas.getByRole('link', { name: /60 EUR/ }).click();
  await canvas.getByRole('button', { name: 'Cancel', exact: true }).click();
  const request = canvas.waitForRequest(/\/cancel\?below=keep$/);
  await canvas.getByRole('button', { name: 'Only this task' }).click();
  await request;
  await expect(canvas.getByRole('dialog', { name: 'Canceled' })).toContainText('cashier');

  // What was asked can be asked again.
  await canvas.keyboard.press('Escape');
  await canvas.getByRole('link', { name: 'Ask again' }).click();
  await expect(canvas.getByLabel('Message', { exact: true })).toHaveValue('60 EUR');
});

test('everything is a few keys away', async ({ hub, canvas }) => {
  await hub.mock(WRITER);
  await canvas.keyboard.press('g');
  await canvas.keyboard.press('a');
  await expect(canvas.getByRole('heading', { level: 1, name: 'Agents' })).toBeVisible();
  await expect(canvas.getByLabel('Search agents')).toBeVisible();
  await canvas.keyboard.press('/');
  await canvas.keyboard.type('poems');
  await expect(canvas).toHaveURL(/q=poems/);
  await canvas.keyboard.press('Tab');
  await canvas.getByRole('link', { name: /writer/ }).focus();
  await canvas.keyboard.press('Enter');
  await expect(canvas.getByRole('heading', { level: 1, name: 'writer' })).toBeVisible();
  await canvas.keyboard.press('?');
  await expect(canvas.getByRole('dialog')).toContainText('Search on this screen');
  await canvas.keyboard.press('Escape');
  await expect(canvas.getByRole('dialog')).toHaveCount(0);
});

test('a secret is shown once', async ({ hub, canvas }) => {
  await go(canvas, hub, '/access?tab=keys');
  await canvas.getByRole('button', { name: 'New key' }).click();
  await canvas.getByLabel('Name').fill('ann');
  await canvas.getByRole('button', { name: 'Create' }).click();
  const secret = await canvas.getByText(/^nk_/).innerText();
  await canvas.getByRole('button', { name: 'I saved it' }).click();
  await expect(canvas.getByRole('cell', { name: /ann/ })).toBeVisible();
  await expect(canvas.locator('body')).not.toContainText(secret);
  const answer = await hub.call<{ name: string }>('GET', '/api/v1/whoami', undefined, secret);
  expect(answer.name).toBe('ann');
});

test('whoever may only look is offered nothing else', async ({ hub, page }) => {
  const { key } = await hub.call<{ key: string }>('POST', '/api/v1/keys', {
    name: 'ann',
    scopes: ['read'],
  });
  await hub.mock(WRITER);
  const { url } = await hub.call<{ url: string }>('POST', '/api/v1/login', undefined, key);
  await page.goto(new URL(`/login${new URL(url).search}`, hub.url).href);
  await go(page, hub, '/agents');
  await expect(page.getByRole('link', { name: /writer/ })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Add an agent' })).toHaveCount(0);
  await go(page, hub, '/agents/writer?tab=settings');
  await expect(page.getByLabel('Role')).toBeDisabled();
});

test('whoever logs out is out in every tab, and reads how to come back', async ({
  hub,
  canvas,
  context,
}) => {
  const other = await context.newPage();
  await go(other, hub, '/agents');
  await expect(other.getByRole('heading', { level: 1, name: 'Agents' })).toBeVisible();
  await canvas.screenshot({ path: 'screenshots/log-out.png' });
  await canvas.getByRole('button', { name: 'Log out' }).click();
  await expect(canvas.getByText('Nobody is logged in here.')).toBeVisible();
  await expect(canvas.getByText('nuncio login', { exact: true })).toBeVisible();
  await expect(other.getByRole('dialog', { name: 'Log in' })).toBeVisible();
  const who = await context.request.get(`${hub.api}/api/v1/whoami`);
  expect(who.status()).toBe(401);
  await enter(canvas, hub);
  await expect(other.getByRole('dialog', { name: 'Log in' })).toHaveCount(0);
});

const CARD = {
  name: 'booker',
  description: 'Books tables',
  version: '1.0.0',
  supportedInterfaces: [],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
};

const SCHEMA = {
  type: 'object',
  required: ['guests'],
  properties: {
    guests: { type: 'integer', title: 'Guests' },
    where: { type: 'string', title: 'Where', enum: ['inside', 'outside'] },
    view: { type: 'boolean', title: 'With a view' },
  },
};

type Hub = Parameters<typeof go>[1];

function tasksOf(hub: Hub, agent: string): Promise<{ id: string; state: string }[]> {
  return hub
    .call<{ tasks: { id: string; state: string }[] }>('GET', `/api/v1/tasks?agent=${agent}`)
    .then((page) => page.tasks);
}

/** Speaks for an agent that fetches its work: asks back with a form. */
async function ask(hub: Hub, key: string, task: string): Promise<void> {
  const message = {
    messageId: 'q1',
    role: 'ROLE_AGENT',
    parts: [{ text: 'How many are you?' }, { data: { schema: SCHEMA } }],
  };
  const status = { state: 'TASK_STATE_INPUT_REQUIRED', message };
  const opened = { id: 'own', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } };
  const update = { taskId: 'own', contextId: 'c', status };
  await hub.bring(key, task, [{ task: opened }, { statusUpdate: update }]);
}
