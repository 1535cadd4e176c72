import '../style/tokens.css';
import '../style/base.css';
import '../style/ui.css';
import { render } from 'preact';
import { listenToKeys } from '../keys.ts';
import { goLive } from '../state/live.ts';
import { saved, savedAnswers } from '../state/saved.ts';
import { showHiddenCharacters } from '../ui/visible-nodes.ts';
import { answersOf } from './answers.ts';
import { listenToLinks, startAt } from './location.ts';
import { SavedApp } from './saved-app.tsx';

if (saved) {
  showHiddenCharacters();
  savedAnswers.of = answersOf(saved);
  startAt(`/r/${saved.run}`);
  listenToLinks();
  listenToKeys();
  goLive();
  render(<SavedApp saved={saved} />, document.getElementById('app')!);
}
