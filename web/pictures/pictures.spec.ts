// The pictures in docs/images, of a hub that is always furnished the same way.

import { fileURLToPath } from 'node:url';

import type { Page } from '@playwright/test';

import { CONFIG, furnish } from '../tests/support/newsroom';
import { enter, expect, go, test } from '../tests/support/story';

const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));

test.use({
  config: CONFIG,
  viewport: { width: 1200, height: 720 },
  colorScheme: 'light',
  deviceScaleFactor: 1,
});

async function picture(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: `${FOLDER}${name}.png`, animations: 'disabled' });
}

test('pictures', async ({ hub, page }) => {
  test.setTimeout(300_000);
  const room = await furnish(hub);
  await enter(page, hub);
  await expect(page.getByText('Recent failures')).toBeVisible();
  await expect(page.getByText('503 three times').first()).toBeVisible();
  await picture(page, 'home');

  await go(page, hub, '/agents?view=chart');
  await expect(page.getByText(/^\d calls?$/).first()).toBeVisible();
  await picture(page, 'org-chart');

  await go(page, hub, '/playground?agent=writer');
  await page.getByLabel('Message', { exact: true }).fill('otters');
  await page.keyboard.press('Enter');
  await expect(page.getByText('Done.', { exact: true })).toBeVisible();
  await picture(page, 'playground');

  await page.setViewportSize({ width: 1440, height: 800 });
  await go(page, hub, `/runs/${room.running}?node=research`);
  await expect(page.locator('[data-id="research"]')).toContainText('Notes on');
  await picture(page, 'workflow-run');
});
