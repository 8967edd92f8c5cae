// The screens of workflows in light and dark, on a laptop and a phone: looked at by people and by axe.

import { readFile } from 'node:fs/promises';

import AxeBuilder from '@axe-core/playwright';

import { expect, go, test } from './support/story';

test.use({
  config: `
agents:
  - {name: writer, kind: echo, role: Writes}
  - {name: postman, kind: echo, role: Tells people}
  - {name: moody, kind: command, command: [sh, -c, "echo out of paper >&2; exit 3"], role: Fails}
`,
});

const PUBLISH = `name: publish
description: Writes, draws, asks, and publishes
nodes:
  - {id: topic, type: input, config: {prompt: About what?}}
  - {id: draft, type: external, config: {agent: writer, prompt: "Write about {{topic}}"}, group: words}
  - {id: pictures, type: external, config: {agent: moody, prompt: "Draw {{topic}}"}}
  - {id: sorry, type: external, config: {agent: postman, prompt: "No pictures: {{pictures.error}}"}}
  - {id: ok, type: approval, config: {prompt: "May it go out?\\n\\n{{draft}}"}, group: words}
  - {id: layout, type: external, config: {agent: moody, prompt: "{{draft}}"}}
  - {id: out, type: output}
edges:
  - {from: topic, to: draft}
  - {from: topic, to: pictures}
  - {from: pictures, to: sorry, trigger_rule: on_failure}
  - {from: draft, to: ok}
  - {from: sorry, to: out, trigger_rule: always}
  - {from: ok, to: layout, condition: "ok == 'approve'"}
  - {from: layout, to: out}
groups:
  - {id: words, label: Words, color: teal}
`;

test('every screen of workflows can be seen and read', async ({ hub, canvas: page }) => {
  test.setTimeout(240_000);
  const report = await readFile(new URL('../../examples/workflows/report.yaml', import.meta.url));
  const put = (name: string, source: string) =>
    hub.call('PUT', `/api/v1/workflows/${name}`, { source });
  await put('report', report.toString());
  await put('report', report.toString().replace('timeout: 2m', 'timeout: 3m'));
  await put('publish', PUBLISH);
  const start = () =>
    hub.call<{ id: string }>('POST', '/api/v1/workflows/publish/runs', {
      inputs: { topic: 'otters' },
    });
  const [waits, failed] = [await start(), await start()];
  const state = async (id: string) =>
    (await hub.call<{ state: string }>('GET', `/api/v1/runs/${id}`)).state;
  for (const run of [waits, failed]) await expect.poll(() => state(run.id)).toBe('input_required');
  await hub.call('POST', `/api/v1/runs/${failed.id}/nodes/ok/answer`, { text: 'approve' });
  await expect.poll(() => state(failed.id)).toBe('failed');

  const screens: [string, string, string][] = [
    ['workflows', '/workflows', 'A reviewed report about any topic'],
    ['workflow-new', '/new-workflow', 'Drag a step or an agent'],
    ['workflow', '/workflows/report', 'on failure'],
    ['workflow-code', '/workflows/report?tab=code', 'Canvas'],
    ['workflow-versions', '/workflows/report?tab=versions', 'timeout: 3m'],
    ['workflow-runs', '/workflows/publish?tab=runs', 'Started'],
    ['run-waits', `/runs/${waits.id}`, 'waits for you'],
    ['run-failed', `/runs/${failed.id}`, 'Run again'],
    ['run-events', `/runs/${failed.id}?show=events`, 'node.started'],
    ['runs', '/runs', 'publish'],
  ];
  const findings: string[] = [];
  const look = async (name: string): Promise<void> => {
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: `screenshots/${name}.png`, animations: 'disabled' });
    const { violations } = await new AxeBuilder({ page }).analyze();
    for (const found of violations) {
      if (found.impact !== 'serious' && found.impact !== 'critical') continue;
      const where = found.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3);
      findings.push(`${name}: ${found.id} ${where.join(' | ')}`);
    }
  };
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    for (const [name, path, text] of screens) {
      await go(page, hub, path);
      await expect(page.getByText(text).first()).toBeVisible();
      await look(`${name}-${theme}`);
    }
    await go(page, hub, '/workflows/publish');
    await page.locator('[data-id="layout"]').click();
    await expect(page.getByText('The name of the agent')).toBeVisible();
    await look(`workflow-step-${theme}`);
    await page.getByText("if ok == 'approve'").click();
    await expect(page.getByText('How ok must have ended')).toBeVisible();
    await look(`workflow-way-${theme}`);
    await go(page, hub, `/runs/${failed.id}`);
    await page.locator('[data-id="draft"]').click();
    await expect(page.getByText('Brought about')).toBeVisible();
    await look(`run-step-${theme}`);
    await page.getByRole('button', { name: 'Run again', exact: true }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    await look(`run-again-${theme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [name, path, text] of screens) {
    await go(page, hub, path);
    await expect(page.getByText(text).first()).toBeAttached();
    await page.screenshot({ path: `screenshots/${name}-phone.png`, animations: 'disabled' });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > 390) findings.push(`${name} phone: ${wide} wide`);
  }
  expect(findings).toEqual([]);
});
