import './changes.css';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import { useKeys } from '../../keys.ts';
import { Button } from '../../ui/button.tsx';
import { plural } from '../../ui/figures.ts';
import { toast } from '../../ui/toast.tsx';
import { Lines } from '../../ui/usage.tsx';
import { FileDiff } from './diff-file.tsx';
import { type DiffPlace, openAtFirst, placeInHash, placeName } from './diff-place.ts';
import type { Commenting } from './diff-rows.tsx';
import { parseDiff } from './parse-diff.ts';
import { contentMark, loadViewed, saveViewed } from './viewed-files.ts';

/** Lines that can be commented on; arrow keys move the focus between them. */
const LINE = '.diff-row[data-place]';

/** Focuses the first line of the next or previous change. */
function focusChange(box: HTMLElement | null, by: 1 | -1): void {
  const changes = all(box, '.diff-hunk').flatMap(
    hunk =>
      hunk.querySelector<HTMLElement>(`${LINE}:is(.is-added, .is-removed)`) ?? all(hunk, LINE).slice(0, 1),
  );
  const found = neighbour(box, changes, by);
  found?.focus();
  found?.scrollIntoView({ block: 'center' });
}

function focusLine(box: HTMLElement | null, by: 1 | -1): void {
  neighbour(box, all(box, LINE), by)?.focus();
}

/** The focused line of the diff. Null if there is none. */
function placeInFocus(box: HTMLElement | null): DiffPlace | null {
  const line = document.activeElement?.closest<HTMLElement>(LINE);
  if (!line || !box?.contains(line)) return null;
  const place = placeInHash(`#${encodeURIComponent(line.dataset.place ?? '')}`);
  return place && place.line !== null ? { ...place, line: place.line } : null;
}

/** The next element after the focus, or after the top of the visible part. */
function neighbour(box: HTMLElement | null, stops: HTMLElement[], by: 1 | -1): HTMLElement | undefined {
  const focus = document.activeElement;
  const isAfter = (stop: HTMLElement) =>
    focus && box?.contains(focus)
      ? (focus.compareDocumentPosition(stop) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
      : stop.getBoundingClientRect().top > 0;
  const at = stops.findIndex(isAfter);
  const next = at < 0 ? stops.length : at;
  if (by > 0) return stops[next];
  return stops[stops[next - 1]?.contains(focus) ? next - 2 : next - 1];
}

const all = (box: HTMLElement | null, selector: string): HTMLElement[] => [
  ...(box?.querySelectorAll<HTMLElement>(selector) ?? []),
];

const MAX_FILES = 300;

interface DiffFilesProps {
  text: string;
  commenting: Commenting | null;
  /** Run whose files can be marked as viewed, and whose images can be loaded. Null if there is none. */
  run?: string | null;
}

/** Files of a diff that can be filtered, folded, navigated by keys, marked as viewed and commented on. */
export function DiffFiles({ text, commenting, run = null }: DiffFilesProps) {
  const files = useMemo(() => parseDiff(text), [text]);
  const marks = useMemo(() => new Map(files.map(file => [file.path, contentMark(file)])), [files]);
  const [viewed, setViewed] = useState(() => loadViewed(run));
  const isViewed = (path: string) => viewed.get(path) === marks.get(path);
  const [open, setOpen] = useState(() => {
    const unread = files.filter(({ path }) => viewed.get(path) !== marks.get(path));
    const first = withTarget(openAtFirst(unread));
    return commenting?.editing ? first.add(commenting.editing.path) : first;
  });
  const [filter, setFilter] = useState('');
  const wanted = filter.trim().toLowerCase();
  const found = wanted === '' ? files : files.filter(({ path }) => path.toLowerCase().includes(wanted));
  const filterBox = useRef<HTMLInputElement>(null);
  const [isSplit, setSplit] = useState(() => sessionStorage.getItem(SPLIT_KEY) === 'true');
  const turnSplit = () => {
    sessionStorage.setItem(SPLIT_KEY, String(!isSplit));
    setSplit(!isSplit);
  };
  const [most, setMost] = useState(MAX_FILES);
  const [target, setTarget] = useState(() => targetName());
  const box = useRef<HTMLDivElement>(null);
  const turn = (path: string, isOpen: boolean) => {
    const next = new Set(open);
    if (isOpen) next.add(path);
    else next.delete(path);
    setOpen(next);
  };
  const view = (path: string) => {
    const next = new Map(viewed);
    if (isViewed(path)) next.delete(path);
    else next.set(path, marks.get(path)!);
    setViewed(next);
    saveViewed(run, next);
    turn(path, !next.has(path));
  };
  const fileInFocus = () => document.activeElement?.closest<HTMLElement>('.diff-file')?.dataset.path;
  const jump = (path: string) => {
    turn(path, true);
    requestAnimationFrame(() => fileElement(box.current, path)?.scrollIntoView({ block: 'start' }));
  };

  useEffect(() => {
    const toTarget = () => {
      setOpen(withTarget);
      setTarget(targetName());
      requestAnimationFrame(() => {
        const row = box.current?.querySelector<HTMLElement>('.is-target');
        const path = placeInHash(location.hash)?.path;
        (row ?? (path ? fileElement(box.current, path) : null))?.scrollIntoView({ block: 'center' });
      });
    };
    toTarget();
    addEventListener('hashchange', toTarget);
    return () => removeEventListener('hashchange', toTarget);
  }, []);

  useKeys([
    { key: 'n', what: 'Next change', repeats: true, run: () => focusChange(box.current, 1) },
    { key: 'p', what: 'Previous change', repeats: true, run: () => focusChange(box.current, -1) },
    { key: 'j', what: 'Next line', repeats: true, run: () => focusLine(box.current, 1) },
    { key: 'k', what: 'Previous line', repeats: true, run: () => focusLine(box.current, -1) },
    {
      key: 'm',
      what: 'Comment on the line in focus, or on the next change',
      run: comment,
      when: () => commenting !== null,
    },
    { key: 'u', what: 'Split or unified', run: turnSplit },
    { key: 'F', what: 'Filter files', run: () => filterBox.current?.select() },
    {
      key: 'v',
      what: 'Mark the file in focus as viewed',
      run: () => view(fileInFocus()!),
      when: () => run !== null && fileInFocus() !== undefined,
    },
    {
      key: 'a',
      what: 'Open or fold all files',
      run: () => setOpen(open.size > 0 ? new Set() : new Set(files.map(({ path }) => path))),
    },
  ]);

  return (
    <div class="diff">
      <nav class="diff-list" aria-label="Changed files">
        <div class="diff-list-tools">
          <input
            ref={filterBox}
            type="search"
            aria-label="Filter files"
            placeholder="filter files"
            value={filter}
            onInput={event => setFilter(event.currentTarget.value)}
            onKeyDown={event => {
              if (event.key !== 'Escape') return;
              setFilter('');
              event.currentTarget.blur();
            }}
          />
          <Button keyName="u" isPressed={isSplit} onClick={turnSplit}>
            split
          </Button>
        </div>
        {run !== null && (
          <p class="soft">
            {files.filter(({ path }) => isViewed(path)).length} of {plural(files.length, 'file')} viewed
          </p>
        )}
        <ul>
          {found.slice(0, most).map((file, index, shown) => (
            <>
              {folderOf(file.path) !== folderOf(shown[index - 1]?.path ?? '') && (
                <li key={`in ${file.path}`} class="diff-folder soft">
                  {visibleText(folderOf(file.path))}
                </li>
              )}
              <li key={file.path} class={isViewed(file.path) ? 'is-viewed' : ''}>
                <button
                  type="button"
                  class="diff-jump"
                  title={visibleText(file.path)}
                  onClick={() => jump(file.path)}
                >
                  <span class="diff-path">{visibleText(file.path.slice(folderOf(file.path).length))}</span>
                  {isViewed(file.path) && <span class="unseen"> viewed</span>}
                </button>
                <Lines lines={file.isBinary ? null : file} />
              </li>
            </>
          ))}
        </ul>
        {found.length === 0 && <p class="soft">No file matches.</p>}
        {found.length > most && (
          <Button onClick={() => setMost(most + MAX_FILES)}>Show more of {found.length} files</Button>
        )}
      </nav>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrows move the focus that a line in it has */}
      <div ref={box} class="diff-files" onKeyDown={onArrow} onClick={onNumber}>
        {found.slice(0, most).map(file => (
          <FileDiff
            key={file.path}
            file={file}
            isOpen={open.has(file.path)}
            onOpen={isOpen => turn(file.path, isOpen)}
            commenting={commenting}
            target={target?.startsWith(`${file.path}:`) ? target : null}
            isSplit={isSplit}
            run={run}
            viewed={run === null ? null : { isViewed: isViewed(file.path), turn: () => view(file.path) }}
          />
        ))}
      </div>
    </div>
  );

  function comment() {
    if (!placeInFocus(box.current)) focusChange(box.current, 1);
    const place = placeInFocus(box.current);
    if (place) commenting?.edit(place);
    else toast('No line to comment on: open a file first.');
  }

  function onArrow(event: KeyboardEvent) {
    if ((event.key !== 'ArrowDown' && event.key !== 'ArrowUp') || !placeInFocus(box.current)) return;
    event.preventDefault();
    focusLine(box.current, event.key === 'ArrowDown' ? 1 : -1);
  }

  function onNumber(event: MouseEvent) {
    const number = (event.target as HTMLElement).closest('.diff-number');
    const place = number?.closest<HTMLElement>('.diff-row')?.dataset.place;
    if (!place) return;
    history.replaceState(history.state, '', `${location.pathname}${location.search}#${encodeURI(place)}`);
    setTarget(place);
  }
}

const SPLIT_KEY = 'squad-split';

/** Folder of a path, with its slash. Empty for a file at the top. */
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);

function targetName(): string | null {
  const place = placeInHash(location.hash);
  return place && place.line !== null ? placeName({ ...place, line: place.line }) : null;
}

function withTarget(open: Set<string>): Set<string> {
  const path = placeInHash(location.hash)?.path;
  return path === undefined ? open : new Set([...open, path]);
}

const fileElement = (box: HTMLElement | null, path: string): Element | null =>
  [...(box?.querySelectorAll<HTMLElement>('.diff-file') ?? [])].find(
    ({ dataset }) => dataset.path === path,
  ) ?? null;
