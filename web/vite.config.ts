import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { HttpProxy } from 'vite';
import { defineConfig } from 'vitest/config';

// Where the hub is while this is developed and tested; the program itself serves `dist` below `/ui/`.
const hub = process.env['NUNCIO_HUB'] ?? 'http://127.0.0.1:7420';
const proxy = Object.fromEntries(
  ['/api', '/agents', '/login', '/version', '/healthz', '/readyz', '/metrics', '/openapi.json'].map(
    (path) => [path, { target: hub, ws: path === '/api', configure: cut }],
  ),
);

// A line to the hub that breaks breaks here, too.
function cut(proxy: HttpProxy.Server): void {
  proxy.on('proxyRes', (from, _, to) => from.on('close', () => from.complete || to.destroy()));
}

// Many small files compress badly: the screens are one, and what draws graphs comes when it is needed.
function chunk(id: string): string | undefined {
  if (/node_modules\/(@xyflow|d3-|classcat)/.test(id)) return 'flow';
  if (/node_modules\/yaml/.test(id)) return 'graph';
  if (/src\/(screens\/workflows\/(?!routes)|lib\/workflow)/.test(id)) return 'workflows';
  if (/src\/screens\/agents\/(Chart|Tree|AgentNode|SidePanel|calls)/.test(id)) return 'chart';
  if (/src\/|node_modules\/(svelte|esm-env|clsx)\//.test(id)) return 'app';
  return undefined;
}

export default defineConfig(({ command }) => ({
  // Relative, so that it works below whatever path a proxy puts the hub.
  base: command === 'build' ? './' : '/ui/',
  plugins: [svelte()],
  server: { host: '127.0.0.1', proxy },
  preview: { host: '127.0.0.1', proxy },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    // All browsers that have `light-dark()` know module preloading, too.
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    rollupOptions: { output: { manualChunks: chunk } },
  },
  test: { include: ['src/**/*.test.ts'] },
}));
