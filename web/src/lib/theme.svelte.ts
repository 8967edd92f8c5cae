// Light or dark: as the system says, unless somebody chose.

export type Choice = 'system' | 'light' | 'dark';
const KEY = 'nuncio-theme';

class Theme {
  choice = $state<Choice>(read());

  constructor() {
    this.#show();
  }

  set(choice: Choice): void {
    this.choice = choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    this.#show();
  }

  #show(): void {
    if (this.choice === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = this.choice;
  }
}

function read(): Choice {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system';
  }
}

export const theme = new Theme();
