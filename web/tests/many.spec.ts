// Lists of any length are read without waiting, and without filling the page.

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
