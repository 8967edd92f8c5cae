import type { Route } from './lib/router.svelte';
import { workflowRoutes } from './screens/workflows/routes';

/** Every view and its link. */
export const routes: Route[] = [
  { pattern: '/', section: '/', load: () => import('./screens/home/Home.svelte') },
  { pattern: '/agents', section: '/agents', load: () => import('./screens/agents/Agents.svelte') },
  {
    pattern: '/agents/:agent',
    section: '/agents',
    load: () => import('./screens/agent/Agent.svelte'),
  },
  {
    pattern: '/playground',
    section: '/playground',
    load: () => import('./screens/playground/Playground.svelte'),
  },
  { pattern: '/tasks', section: '/tasks', load: () => import('./screens/tasks/Tasks.svelte') },
  { pattern: '/tasks/:task', section: '/tasks', load: () => import('./screens/task/Task.svelte') },
  { pattern: '/inbox', section: '/inbox', load: () => import('./screens/inbox/Inbox.svelte') },
  ...workflowRoutes,
  { pattern: '/access', section: '/access', load: () => import('./screens/access/Access.svelte') },
  {
    pattern: '/settings',
    section: '/settings',
    load: () => import('./screens/settings/Settings.svelte'),
  },
];

/** What the navigation shows, in this order. */
export const sections = [
  { path: '/', title: 'Home', icon: 'home', key: 'h' },
  { path: '/agents', title: 'Agents', icon: 'agents', key: 'a' },
  { path: '/playground', title: 'Playground', icon: 'chat', key: 'p' },
  { path: '/tasks', title: 'Tasks', icon: 'tasks', key: 't' },
  { path: '/inbox', title: 'Inbox', icon: 'inbox', key: 'i' },
  { path: '/workflows', title: 'Workflows', icon: 'flow', key: 'w' },
  { path: '/access', title: 'Access', icon: 'lock', key: 'c' },
  { path: '/settings', title: 'Settings', icon: 'settings', key: 's' },
] as const;
