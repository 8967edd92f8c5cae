// Every screen in light and dark, on a laptop and a phone: looked at by people, and by axe.

import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';

import { CONFIG, furnish, type Newsroom } from './support/newsroom';
import { enter, expect, go, test } from './support/story';

test.use({ config: CONFIG });

/** Every view: the name of its picture, its link, and a text that shows that it is there. */
function screens(room: Newsroom): [string, string, string][] {
  return [
    ['home', '/', 'Tasks by state'],
    ['agents', '/agents', 'writer'],
    ['chart', '/agents?view=chart&agent=writer', 'Show calls of the last hour'],
    ['add', '/agents?add=1', 'By its URL'],
    ['agent', '/agents/researcher', 'Skills'],
    ['agent-card', '/agents/writer?tab=card', 'As the agent sent it'],
    ['agent-changes', '/agents/writer?tab=history', 'First card'],
    ['agent-access', '/agents/writer?tab=access&caller=editor', 'Yes'],
    ['agent-traffic', '/agents/writer?tab=traffic', 'History'],
    ['agent-doctor', '/agents/writer?tab=doctor', 'The hub looks whether'],
    ['agent-settings', '/agents/writer?tab=settings', 'Identity and calls'],
    ['playground', `/playground?agent=writer&task=${room.poem}`, 'semi-aquatic'],
    ['playground-empty', '/playground?agent=researcher', 'sources on river otters'],
    ['playground-live', `/playground?agent=researcher&task=${room.research}`, 'reading the'],
    ['tasks', '/tasks', 'Duration'],
    ['task', `/tasks/${room.poem}`, 'semi-aquatic'],
    ['task-failed', `/tasks/${room.failed}`, '503'],
    ['task-artifacts', `/tasks/${room.poem}?tab=artifacts`, 'poem.md'],
    ['task-events', `/tasks/${room.poem}?tab=events&event=2`, 'thinking about otters'],
    ['task-tree', `/tasks/${room.poem}?tab=tree`, 'It made no calls'],
    ['task-run-tree', `/tasks/${room.tree}?tab=tree`, 'factcheck'],
    ['task-push', `/tasks/${room.poem}?tab=push`, 'No webhook'],
    ['inbox', '/inbox', 'May I pay'],
    ['access', '/access?caller=writer&target=cashier&skill=pay', 'RULE_DENIES'],
    ['rules', '/access?tab=rules', 'no-payments'],
    ['keys', '/access?tab=keys', 'ann'],
    ['audit', '/access?tab=audit', 'hang together'],
    ['workflows', '/workflows', 'evening-issue'],
    ['workflow-new', '/new-workflow', 'Drag a step or an agent'],
    ['workflow', '/workflows/morning-issue', 'on failure'],
    ['workflow-code', '/workflows/morning-issue?tab=code', 'Canvas'],
    ['workflow-versions', '/workflows/evening-issue?tab=versions', 'without research'],
    ['workflow-runs', '/workflows/evening-issue?tab=runs', 'Started'],
    ['run-live', `/runs/${room.running}`, 'Cancel'],
    ['run-waits', `/runs/${room.waits}`, 'May it go to print?'],
    ['run-over', `/runs/${room.broken}`, 'Run again'],
    ['run-step', `/runs/${room.broken}?node=draft`, 'Attempts'],
    ['run-events', `/runs/${room.broken}?show=events`, 'node.started'],
    ['runs', '/runs', 'morning-issue'],
    ['settings', '/settings', 'limits.drain'],
  ];
}

async function look(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `screenshots/${name}.png`, animations: 'disabled' });
}

/** What axe finds that keeps somebody from using the page. */
async function serious(page: Page, name: string): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map((found) => {
      const where = found.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3);
      return `${name}: ${found.id} ${where.join(' | ')}`;
    });
}

test('every screen can be seen and read in light and dark', async ({ hub, page }) => {
  test.setTimeout(900_000);
  const room = await furnish(hub);
  await enter(page, hub);
  const findings: string[] = [];
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    for (const [name, path, text] of screens(room)) {
      await go(page, hub, path);
      await expect(page.getByText(text).first()).toBeVisible();
      await look(page, `${name}-${theme}`);
      findings.push(...(await serious(page, `${name}-${theme}`)));
    }
    await go(page, hub, '/workflows/evening-issue');
    await page.locator('[data-id="print"]').click();
    await expect(page.getByText('The name of the agent')).toBeVisible();
    await look(page, `workflow-step-${theme}`);
    findings.push(...(await serious(page, `workflow-step-${theme}`)));
    await page.getByText("if ok == 'approve'").click();
    await expect(page.getByText('How ok must have ended')).toBeVisible();
    await look(page, `workflow-edge-${theme}`);
    findings.push(...(await serious(page, `workflow-edge-${theme}`)));
    await go(page, hub, `/runs/${room.broken}`);
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await look(page, `run-again-${theme}`);
    findings.push(...(await serious(page, `run-again-${theme}`)));
  }
  expect(findings).toEqual([]);
});

test('every screen fits a phone', async ({ hub, page }) => {
  test.setTimeout(600_000);
  const room = await furnish(hub);
  await page.setViewportSize({ width: 390, height: 844 });
  await enter(page, hub);
  const findings: string[] = [];
  for (const [name, path, text] of screens(room)) {
    await go(page, hub, path);
    await expect(page.getByText(text).first()).toBeAttached();
    await look(page, `${name}-phone`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 390) findings.push(`${name}: ${wide} wide`);
  }
  expect(findings).toEqual([]);
});

test('a new hub shows ways to begin', async ({ page, hub }) => {
  for (const agent of ['factcheck', 'layout', 'printer', 'editor']) {
    await hub.call('DELETE', `/api/v1/agents/${agent}`);
  }
  await enter(page, hub);
  await expect(page.getByText('Three ways to begin')).toBeVisible();
  await look(page, 'first-run-light');
  expect(await serious(page, 'first-run')).toEqual([]);
});
