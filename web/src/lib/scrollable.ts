// A box that scrolls can be reached with the keyboard, and says what it is; one that does not scroll
// is no stop on the way.

import type { Attachment } from 'svelte/attachments';

/** Makes a box focusable for as long as something in it is out of sight. */
export function scrollable(label: string): Attachment<HTMLElement> {
  return (box) => {
    const look = (): void => {
      const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
      if (scrolls === box.hasAttribute('tabindex')) return;
      for (const [name, value] of [
        ['tabindex', '0'],
        ['role', 'region'],
        ['aria-label', label],
      ] as const) {
        if (scrolls) box.setAttribute(name, value);
        else box.removeAttribute(name);
      }
    };
    const observer = new ResizeObserver(look);
    observer.observe(box);
    for (const child of box.children) observer.observe(child);
    return () => observer.disconnect();
  };
}
