import { describe, expect, it } from 'vitest';

import { History } from './history';

describe('undo', () => {
  it('goes back and forth', () => {
    const history = new History('a');
    history.push('b', '', 0);
    history.push('c', '', 0);
    expect([history.undo(), history.undo(), history.undo()]).toEqual(['b', 'a', 'a']);
    expect(history.canUndo).toBe(false);
    expect([history.redo(), history.redo(), history.redo()]).toEqual(['b', 'c', 'c']);
    expect(history.canRedo).toBe(false);
  });

  it('takes a word as one step, and another place or a pause as a new one', () => {
    const history = new History('');
    history.push('o', 'name', 0);
    history.push('ot', 'name', 300);
    history.push('ott', 'name', 5000);
    history.push('ott!', 'prompt', 5100);
    expect([history.undo(), history.undo(), history.undo()]).toEqual(['ott', 'ot', '']);
  });

  it('forgets what was undone when something else is done', () => {
    const history = new History(1);
    history.push(2, '', 0);
    history.undo();
    history.push(3, '', 0);
    expect(history.canRedo).toBe(false);
    expect(history.undo()).toBe(1);
  });

  it('keeps no more than it should', () => {
    const history = new History(0);
    for (let i = 1; i <= 500; i++) history.push(i, '', 0);
    let steps = 0;
    for (; history.canUndo; steps++) history.undo();
    expect(steps).toBe(200);
  });
});
