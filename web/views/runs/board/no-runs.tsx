import { Empty } from '../../../ui/empty.tsx';
import type { BoardFilter } from './use-board.ts';

export function NoRuns({ filter }: { filter: BoardFilter }) {
  const isFiltered = filter.needs.length > 0 || filter.q || filter.squad || filter.workspace;
  if (isFiltered)
    return (
      <Empty title={filter.q ? `No run has the words “${filter.q}”` : 'No run is like that now'}>
        <a href="/">Show all runs</a>
      </Empty>
    );
  return (
    <Empty title="No runs yet" command={'squad run coder "Add a health check"'}>
      Start one here with <kbd>N</kbd>, from your MCP client, or in a terminal in your project:
    </Empty>
  );
}
