/**
 * A script cannot change the address of a file, so the part after `#` names the view, with its own query and fragment.
 * The build of a saved run uses these two in place of the browser's `location` and `history`.
 */
const ORIGIN = 'https://saved.invalid';
let start = '/';

/** The view that is shown when the address names none. */
export function startAt(path: string): void {
  start = path;
}

const here = (): URL => {
  const { hash } = window.location;
  return new URL(hash.startsWith('#/') ? hash.slice(1) : start, ORIGIN);
};

export const location = {
  origin: ORIGIN,
  host: '',
  get pathname() {
    return here().pathname;
  },
  get search() {
    return here().search;
  },
  get hash() {
    return here().hash;
  },
};

export const history = {
  get state(): unknown {
    return window.history.state;
  },
  pushState: (state: unknown, title: string, url: string) =>
    window.history.pushState(state, title, `#${at(url)}`),
  replaceState: (state: unknown, title: string, url: string) =>
    window.history.replaceState(state, title, `#${at(url)}`),
  back: () => window.history.back(),
  forward: () => window.history.forward(),
};

function at(url: string): string {
  const { pathname, search, hash } = new URL(url, `${ORIGIN}${location.pathname}${location.search}`);
  return pathname + search + hash;
}

/** Makes links lead to the same views as in the web UI of a hub. */
export function listenToLinks(): void {
  addEventListener('click', onClick, { capture: true });
}

function onClick(event: MouseEvent): void {
  const link = (event.target as Element).closest?.('a[href]');
  const href = link?.getAttribute('href') ?? '';
  if (!/^[/#]/.test(href) || event.button !== 0) return;
  event.preventDefault();
  event.stopPropagation();
  if (href.startsWith('/')) {
    history.pushState(null, '', href);
    dispatchEvent(new PopStateEvent('popstate'));
    return;
  }
  history.replaceState(history.state, '', `${location.pathname}${location.search}${href}`);
  document.getElementById(href.slice(1))?.focus();
  dispatchEvent(new HashChangeEvent('hashchange'));
}
