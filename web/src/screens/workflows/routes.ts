import type { Route } from '../../lib/router.svelte';

/** The screens of workflows and their runs. */
export const workflowRoutes: Route[] = [
  { pattern: '/workflows', section: '/workflows', load: () => import('./Workflows.svelte') },
  { pattern: '/new-workflow', section: '/workflows', load: () => import('./Editor.svelte') },
  { pattern: '/workflows/:name', section: '/workflows', load: () => import('./Editor.svelte') },
  { pattern: '/runs', section: '/workflows', load: () => import('./Runs.svelte') },
  {
    pattern: '/runs/:run',
    section: '/workflows',
    load: () => import('./Run.svelte') as ReturnType<Route['load']>,
  },
];
