import { isRecord } from '../../lib/workflow/graph';
import type { Json } from '../../lib/workflow/types';

/** What travels from the palette to the canvas. */
export interface Dragged {
  type: string;
  wish: string;
  config: Record<string, Json>;
}

export const DRAGGED = 'application/x-nuncio-node';

export function readDragged(text: string): Dragged | null {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || typeof value.type !== 'string' || typeof value.wish !== 'string') {
      return null;
    }
    const config = isRecord(value.config) ? (value.config as Record<string, Json>) : {};
    return { type: value.type, wish: value.wish, config };
  } catch {
    return null;
  }
}
