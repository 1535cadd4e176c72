import './style/tokens.css';
import './style/base.css';
import './style/ui.css';
import { render } from 'preact';
import { App } from './app.tsx';
import { listenToKeys } from './keys.ts';
import { loadView } from './routes.ts';
import { goLive } from './state/live.ts';
import { restoreTheme } from './state/theme.ts';
import { findToken } from './state/token.ts';
import { showHiddenCharacters } from './ui/visible-nodes.ts';

showHiddenCharacters();
restoreTheme();
const hasKey = location.hash.startsWith('#key=');
// Exchange the key in the address for a token before anything is shown or requested.
const found = findToken();
// Until then this tab has no token that code from another program on this port could read.
if (hasKey) loadView(location.pathname);
void found.finally(() => {
  goLive();
  listenToKeys();
  render(<App />, document.getElementById('app')!);
});
