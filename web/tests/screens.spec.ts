// Every screen in light and dark, on a laptop and a phone: looked at by people, and by axe.

import AxeBuilder from '@axe-core/playwright';

import type { Hub } from './support/hub';
import { CASHIER, enter, expect, go, test, WRITER } from './support/story';

test.use({
  config: `
agents:
  - {name: lead, kind: echo, role: Leads the writers}
  - {name: upper, kind: command, command: [tr, a-z, A-Z], parent: lead, role: Shouts}
`,
});

const FLAKY = `
card: {name: flaky, description: Fails now and then}
otherwise: [{fail: "the upstream model answered 503 three times"}]
`;

/** Fills a hub with something to see; returns every view, with a text that shows it is there. */
async function furnish(hub: Hub): Promise<[string, string, string][]> {
  await hub.mock(WRITER, { parent: 'lead', role: 'Writes poems' });
  await hub.mock(CASHIER, { role: 'Pays bills' });
  await hub.mock(FLAKY, { parent: 'cashier' });
  await hub.mock('{card: {name: legacy, description: Speaks only 0.3}, versions: ["0.3"]}');
  const poem = await hub.say('writer', 'otters');
  await hub.say('flaky', 'a guess');
  await hub.say('upper', 'hello');
  await hub.say('cashier', '40 EUR to the plumber');
  await hub.say('cashier', '1,200 EUR to the roofer');
  await hub.call('PUT', '/api/v1/rules/no-payments', {
    effect: 'deny',
    caller: { agent: 'writer' },
    target: { agent: 'cashier' },
    skills: ['pay'],
    note: 'four eyes, see the handbook',
  });
  await hub.call('POST', '/api/v1/keys', { name: 'ann', scopes: ['read'] });
  return [
    ['home', '/', 'Tasks by state'],
    ['agents', '/agents', 'writer'],
    ['chart', '/agents?view=chart&agent=writer', 'Calls of the last hour'],
    ['add', '/agents?add=1', 'By its URL'],
    ['agent', '/agents/writer', 'Skills'],
    ['agent-card', '/agents/writer?tab=card', 'As it was sent'],
    ['agent-changes', '/agents/writer?tab=history', 'First card'],
    ['agent-access', '/agents/writer?tab=access&caller=lead', 'Yes'],
    ['agent-traffic', '/agents/writer?tab=traffic', 'What happened to it'],
    ['agent-doctor', '/agents/writer?tab=doctor', 'The hub looks whether'],
    ['agent-settings', '/agents/writer?tab=settings', 'How it is known and called'],
    ['playground', `/playground?agent=writer&task=${poem.id}`, 'semi-aquatic'],
    ['tasks', '/tasks', 'otters'],
    ['task', `/tasks/${poem.id}`, 'semi-aquatic'],
    ['task-events', `/tasks/${poem.id}?tab=events&event=2`, 'thinking about otters'],
    ['task-tree', `/tasks/${poem.id}?tab=tree`, 'No calls were made'],
    ['inbox', '/inbox', 'May I pay'],
    ['access', '/access?caller=writer&target=cashier&skill=pay', 'RULE_DENIES'],
    ['rules', '/access?tab=rules', 'no-payments'],
    ['keys', '/access?tab=keys', 'ann'],
    ['audit', '/access?tab=audit', 'hang together'],
    ['settings', '/settings', 'limits.drain'],
  ];
}

for (const theme of ['light', 'dark'] as const) {
  test(`every screen can be seen and read in ${theme}`, async ({ hub, page }) => {
    test.setTimeout(300_000);
    const screens = await furnish(hub);
    await page.emulateMedia({ colorScheme: theme });
    await enter(page, hub);
    const findings: string[] = [];
    for (const [name, path, text] of screens) {
      await go(page, hub, path);
      await expect(page.getByText(text).first()).toBeVisible();
      await page.screenshot({ path: `screenshots/${name}-${theme}.png`, animations: 'disabled' });
      const { violations } = await new AxeBuilder({ page }).analyze();
      for (const found of violations) {
        if (found.impact !== 'serious' && found.impact !== 'critical') continue;
        const where = found.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3);
        findings.push(`${name}: ${found.id} ${where.join(' | ')}`);
      }
    }
    expect(findings).toEqual([]);
  });
}

test('every screen fits a phone', async ({ hub, page }) => {
  test.setTimeout(300_000);
  const screens = await furnish(hub);
  await page.setViewportSize({ width: 390, height: 844 });
  await enter(page, hub);
  const findings: string[] = [];
  for (const [name, path, text] of screens) {
    await go(page, hub, path);
    await expect(page.getByText(text).first()).toBeVisible();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 390) findings.push(`${name}: ${wide} wide`);
    await page.screenshot({ path: `screenshots/${name}-phone.png`, animations: 'disabled' });
  }
  expect(findings).toEqual([]);
});

test('a new hub shows ways to begin', async ({ page, hub }) => {
  for (const agent of ['upper', 'lead']) await hub.call('DELETE', `/api/v1/agents/${agent}`);
  await enter(page, hub);
  await expect(page.getByText('This hub is new')).toBeVisible();
  await page.screenshot({ path: 'screenshots/first-run-light.png' });
});
