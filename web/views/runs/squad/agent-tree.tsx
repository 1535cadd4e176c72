import { useLayoutEffect, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { runName } from '../../../../src/schema/run-text.ts';
import { plural, shownCount } from '../../../ui/figures.ts';
import { Icon } from '../../../ui/icon.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { Status } from '../../../ui/status.tsx';
import { Money } from '../../../ui/usage.tsx';
import { ownOf, type Total } from './totals.ts';
import { type TreeRow, treeMove } from './tree.ts';

interface AgentTreeProps {
  rows: readonly TreeRow[];
  totals: ReadonlyMap<string, Total>;
  selected: string | null;
  onSelect(runId: string): void;
  onOpen(runId: string, isOpen: boolean): void;
}

/**
 * Tree of agents: each run is below the one that started it or that it reviews, with its own cost and the total
 * including all runs below it.
 */
export function AgentTree({ rows, totals, selected, onSelect, onOpen }: AgentTreeProps) {
  const { route } = useLocation();
  const tree = useRef<HTMLDivElement>(null);
  const entry = rows.some(({ id }) => id === selected) ? selected : (rows[0]?.id ?? null);

  useLayoutEffect(() => {
    if (tree.current?.contains(document.activeElement))
      tree.current.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  }, [entry]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (entry === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const move = treeMove(rows, entry, event.key);
    if (event.key === 'Enter') route(`/r/${entry}/activity`);
    else if (!move) return;
    else if ('focus' in move) onSelect(move.focus);
    else if ('open' in move) onOpen(move.open, true);
    else onOpen(move.close, false);
    event.preventDefault();
  };

  return (
    <div class="agent-tree-box">
      <div class="agent-tree-head" aria-hidden="true">
        <span>Agent</span>
        <span class="num">tokens</span>
        <span class="num">own cost</span>
        <span class="num">cost with children</span>
      </div>
      <div class="agent-tree" role="tree" aria-label="Agents" ref={tree} onKeyDown={onKeyDown}>
        {rows.map(row => (
          <Row
            key={row.id}
            row={row}
            total={totals.get(row.id)}
            isEntry={row.id === entry}
            isSelected={row.id === selected}
            onSelect={() => onSelect(row.id)}
            onTurn={() => onOpen(row.id, !row.isOpen)}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  row: TreeRow;
  total: Total | undefined;
  isEntry: boolean;
  isSelected: boolean;
  onSelect(): void;
  onTurn(): void;
}

function Row({ row, total, isEntry, isSelected, onSelect, onTurn }: RowProps) {
  const { card, level, place, siblings, hasChildren, isOpen } = row;
  const own = ownOf(card);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree around it has the keys
    <div
      role="treeitem"
      class="agent-row"
      style={{ '--level': level }}
      tabIndex={isEntry ? 0 : -1}
      aria-level={level}
      aria-posinset={place}
      aria-setsize={siblings}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? isOpen : undefined}
      onClick={onSelect}
      onFocus={onSelect}
    >
      <span class="agent-who">
        {hasChildren ? (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the arrow keys of the tree do it
          // biome-ignore lint/a11y/noStaticElementInteractions: it is for the pointer alone
          <span
            class={isOpen ? 'twisty open' : 'twisty'}
            onClick={event => {
              event.stopPropagation();
              onTurn();
            }}
          >
            <Icon name="more" />
          </span>
        ) : (
          <span class="twisty" />
        )}
        <span class="agent-name">
          <span class="agent-first">
            <Status card={card} />
            <b>{runName(card)}</b>
          </span>
          <a class="agent-title" href={`/r/${card.id}/activity`} tabIndex={-1}>
            <PlainLine text={card.title} />
          </a>
        </span>
      </span>
      <span class="num">
        <span class="unseen">tokens </span>
        {own.tokens === null ? <span class="faint">unknown</span> : shownCount(own.tokens)}
      </span>
      <span class="num">
        <span class="unseen">own cost </span>
        <Money usd={own.costUsd} isEstimated={own.isEstimated} />
      </span>
      <span class="num">
        <span class="unseen">cost with children </span>
        {hasChildren && total ? <TotalMoney total={total} /> : <span class="faint">–</span>}
      </span>
    </div>
  );
}

/** Shows a sum of money, and marks a sum that lacks the cost of some runs. */
export function TotalMoney({ total }: { total: Total }) {
  const missing = total.unreported > 0 && total.costUsd !== null;
  return (
    <>
      <Money usd={total.costUsd} isEstimated={total.isEstimated} />
      {missing && (
        <span class="faint" title={`Cost unknown for ${plural(total.unreported, 'run')}`}>
          {' '}
          + {total.unreported} unknown
        </span>
      )}
    </>
  );
}
