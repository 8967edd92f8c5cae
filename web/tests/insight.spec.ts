// What the hub shows of itself: the other leg of the wire, its configuration, and the doctor.

import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { expect, go, test } from './support/story';

/** Nothing on the page keeps anybody from reading it. */
async function isReadable(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(grave.map(({ id, nodes }) => `${id} ${nodes[0]?.html ?? ''}`)).toEqual([]);
}

test('the playground shows both legs, and the translation between them', async ({
  hub,
  canvas,
}) => {
  await hub.mock('{card: {name: legacy, description: Speaks only 0.3}, versions: ["0.3"]}');
  await go(canvas, hub, '/playground?agent=legacy&pane=wire');
  await canvas.getByLabel('Message', { exact: true }).fill('hello over there');
  await canvas.getByRole('button', { name: 'Send' }).click();
  const wire = canvas.getByRole('region', { name: 'The wire' });

  // 1.0 on this side, 0.3 on the other.
  const asked = wire.locator('[data-leg=browser].out').first();
  await expect(asked).toContainText('browser → hub');
  await expect(asked).toContainText('"method": "SendStreamingMessage"');
  const sent = wire.locator('[data-leg=agent].out').first();
  await expect(sent).toContainText('hub → agent');
  await expect(sent).toContainText('A2A 0.3 JSON-RPC');
  await expect(sent).toContainText('"method": "message/stream"');
  await expect(sent).toContainText('"kind": "text"');
  await expect(sent).toContainText('hello over there');
  await expect(wire.locator('[data-leg=agent].in').first()).toContainText('agent → hub');
  await canvas.screenshot({ path: 'screenshots/playground-legs.png' });
  await isReadable(canvas);

  await wire.getByRole('button', { name: 'Hub – agent' }).click();
  await expect(wire.locator('[data-leg=browser]')).toHaveCount(0);
  await expect(canvas).toHaveURL(/leg=agent/);
  await wire.getByRole('button', { name: 'Browser – hub' }).click();
  await expect(wire.locator('[data-leg=agent]')).toHaveCount(0);
});

test.describe('a hub with a file', () => {
  test.use({
    config: [
      'limits: {drain: 7s}',
      'dialects: [molecule]',
      'agents:',
      '  - {name: home, kind: echo, trust: 5}',
      '  - {name: far, url: "https://far.example/?key=swordfish", credential: {bearer: swordfish}}',
      '',
    ].join('\n'),
  });

  test('an agent within the hub has no wire, and the pane says so', async ({ hub, canvas }) => {
    await go(canvas, hub, '/playground?agent=home&pane=wire');
    await canvas.getByLabel('Message', { exact: true }).fill('hello');
    await canvas.getByRole('button', { name: 'Send' }).click();
    const wire = canvas.getByRole('region', { name: 'The wire' });
    await expect(wire).toContainText('called in this process, no wire');
  });

  test('settings say what the hub was told, by whom, and no secret', async ({ hub, canvas }) => {
    await go(canvas, hub, '/settings');
    const settings = canvas.getByRole('region', { name: 'Settings of the hub' });
    const row = (key: string) =>
      settings.getByRole('row').filter({ has: canvas.getByText(key, { exact: true }) });
    await expect(row('limits.drain')).toContainText('7s');
    await expect(row('limits.drain')).toContainText('nuncio.yaml:1');
    await expect(row('listen')).toContainText('flag --port');
    await expect(row('hierarchy')).toContainText('default');
    await expect(row('agents[1].credential.bearer')).toContainText('(secret)');
    await expect(settings).not.toContainText('swordfish');
    const dialects = canvas.getByRole('region', { name: 'Dialects' });
    await expect(dialects).toContainText(/molecule\s*on/);
    await expect(dialects).toContainText(/upal\s*off/);
    const reach = canvas.getByRole('region', { name: 'Where the hub may go' });
    await expect(reach).toContainText('127.0.0.0/8');
    await expect(reach).toContainText('trust 5 of 5');
    await canvas.screenshot({ path: 'screenshots/settings-configuration.png', fullPage: true });
    await isReadable(canvas);

    await canvas.getByLabel('Find a setting').fill('nuncio.yaml:1');
    await expect(row('limits.drain')).toBeVisible();
    await expect(row('hierarchy')).toHaveCount(0);
  });

  test('an agent that the hub runs itself is not examined', async ({ hub, canvas }) => {
    await go(canvas, hub, '/agents/home?tab=doctor');
    await expect(canvas.getByText('there is nothing to reach')).toBeVisible();
    await expect(canvas.getByRole('button', { name: 'Examine' })).toHaveCount(0);
  });
});

test('the doctor says what is wrong with an agent, and what to do', async ({ hub, canvas }) => {
  await hub.mock(
    '{card: {name: careless, description: Takes every version}, faults: [{ignore_version: true}]}',
  );
  await go(canvas, hub, '/agents/careless?tab=doctor');
  await canvas.getByRole('button', { name: 'Examine' }).click();
  const doctor = canvas.getByRole('region', { name: 'Doctor' });
  const wrong = doctor.getByRole('listitem').filter({ hasText: 'interface.version' }).first();
  await expect(wrong).toContainText('Cause', { timeout: 45_000 });
  await expect(wrong).toContainText('check `A2A-Version`');
  await expect(doctor.getByText('card.found')).toHaveCount(0);
  await canvas.screenshot({ path: 'screenshots/agent-doctor.png' });
  await isReadable(canvas);

  await doctor.getByLabel('Which checks').selectOption('all');
  await expect(doctor.getByText('card.found')).toBeVisible();
  await doctor.getByLabel('Which checks').selectOption('failure');
  await expect(doctor.getByText('warning', { exact: true })).toHaveCount(0);
  await expect(doctor.getByRole('button', { name: 'CLI' })).toHaveAttribute(
    'title',
    /nuncio doctor http:\/\/127\.0\.0\.1:\d+/,
  );

  // What happens to the agent meanwhile takes nothing of the report away.
  await hub.call('POST', '/api/v1/agents/careless/pause');
  await expect(canvas.getByText('paused', { exact: true })).toBeVisible();
  await expect(doctor.getByLabel('Which checks')).toBeVisible();
});
