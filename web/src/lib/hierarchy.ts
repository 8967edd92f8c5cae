// Who may call whom by their places alone: itself, the one above, those below, those beside it.

export interface Placed {
  id: string;
  parent?: string | null | undefined;
}

/** Returns whom an agent may call because of where it stands (`strict`). */
export function reach(agents: Placed[], id: string): Set<string> {
  const self = agents.find((agent) => agent.id === id);
  const parent = self?.parent ?? null;
  const found = agents.filter(
    (agent) =>
      agent.id !== id &&
      (agent.id === parent || agent.parent === id || (parent !== null && agent.parent === parent)),
  );
  return new Set(found.map((agent) => agent.id));
}

export interface Change {
  gained: string[];
  lost: string[];
}

/** Returns whom an agent may call after a move and not before, and the other way round. */
export function afterMove(agents: Placed[], id: string, parent: string | null): Change {
  const before = reach(agents, id);
  const moved = agents.map((agent) => (agent.id === id ? { ...agent, parent } : agent));
  const after = reach(moved, id);
  return {
    gained: [...after].filter((one) => !before.has(one)),
    lost: [...before].filter((one) => !after.has(one)),
  };
}

export interface Spot {
  x: number;
  y: number;
}

/** Places a forest: children below their parents, nothing on top of anything. */
export function layout(agents: Placed[], width: number, height: number): Map<string, Spot> {
  const known = new Set(agents.map((agent) => agent.id));
  const children = new Map<string | null, string[]>();
  for (const agent of agents) {
    const parent = agent.parent && known.has(agent.parent) ? agent.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), agent.id]);
  }
  const spots = new Map<string, Spot>();
  let free = 0;
  const place = (id: string, depth: number): number => {
    const below = children.get(id) ?? [];
    let x: number;
    if (below.length === 0) {
      x = free;
      free += width;
    } else {
      const places = below.map((child) => place(child, depth + 1));
      x = ((places[0] ?? 0) + (places.at(-1) ?? 0)) / 2;
    }
    spots.set(id, { x, y: depth * height });
    return x;
  };
  const roots = children.get(null) ?? [];
  // Trees come first; agents that stand alone follow in rows, so that many do not make a long line.
  const trees = roots.filter((id) => children.has(id));
  const alone = roots.filter((id) => !children.has(id));
  for (const root of trees) place(root, 0);
  const columns = Math.max(4, Math.round(free / width));
  const deepest = Math.max(-1, ...[...spots.values()].map((spot) => spot.y / height));
  alone.forEach((id, index) => {
    const row = Math.floor(index / columns);
    spots.set(id, { x: (index % columns) * width, y: (deepest + 1 + row) * height });
  });
  return spots;
}
