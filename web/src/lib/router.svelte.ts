// Routes live behind `#`, so that every view has a link below any base path.

import type { Component } from 'svelte';

/** A screen, loaded when somebody goes there. */
export interface Route {
  /** Such as `/agents/:agent`. */
  pattern: string;
  /** Which entry of the navigation it belongs to, by that entry's path. */
  section: string;
  load: () => Promise<{ default: Component<never> }>;
}

export interface Match {
  route: Route;
  params: Record<string, string>;
}

/** Finds the route of a path. */
export function match(routes: Route[], path: string): Match | undefined {
  const found = segments(path);
  for (const route of routes) {
    const wanted = segments(route.pattern);
    if (wanted.length !== found.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((segment, index) => {
      const value = found[index] ?? '';
      if (!segment.startsWith(':')) return segment === value;
      params[segment.slice(1)] = decode(value);
      return true;
    });
    if (fits) return { route, params };
  }
  return undefined;
}

function segments(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

class Location {
  path = $state('/');
  query = $state(new URLSearchParams());

  constructor() {
    this.#read();
    window.addEventListener('hashchange', () => this.#read());
  }

  #read(): void {
    const hash = window.location.hash.replace(/^#/, '') || '/';
    const [path = '/', query = ''] = hash.split(/\?(.*)/s);
    this.path = path;
    this.query = new URLSearchParams(query);
  }

  /** Returns one value of the query, or nothing. */
  get(name: string): string {
    return this.query.get(name) ?? '';
  }

  go(path: string, query: Record<string, string> = {}): void {
    window.location.hash = href(path, query);
  }

  /** Changes the query of this view without a new entry in the history. */
  set(changes: Record<string, string>): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    window.history.replaceState(null, '', `#${this.path}${text ? `?${text}` : ''}`);
    this.query = query;
  }
}

/** Makes a link to a view. */
export function href(path: string, query: Record<string, string> = {}): string {
  const kept = Object.entries(query).filter(([, value]) => value !== '');
  const text = new URLSearchParams(kept).toString();
  return `#${path}${text ? `?${text}` : ''}`;
}

/** Makes one part of a path of any text. */
export const segment = encodeURIComponent;

export const location = new Location();
