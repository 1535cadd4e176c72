import { visibleText } from '../../src/base/text.ts';
import type { ApiError } from '../state/api.ts';
import { Button } from './button.tsx';
import { codeParts } from './code-parts.ts';
import { Icon } from './icon.tsx';
import { WithCode } from './with-code.tsx';

/** An error with suggestions. */
export function Problem({ error, onRetry }: { error: ApiError; onRetry?(): void }) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">
        <Icon name="warn" class="tone-bad" />
        <WithCode text={visibleText(error.message)} />
        <code class="faint">{error.code}</code>
      </p>
      {error.suggestions.length > 0 && (
        <ul>
          {error.suggestions.map(text => (
            <li key={text}>
              <WithRuns text={visibleText(text)} />
            </li>
          ))}
        </ul>
      )}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** Turns ids in a sentence into links to their runs. */
function WithRuns({ text }: { text: string }) {
  return (
    <>
      {codeParts(text).map((part, index) =>
        part.isCode ? (
          <code key={index}>
            <Linked text={part.text} />
          </code>
        ) : (
          <Linked key={index} text={part.text} />
        ),
      )}
    </>
  );
}

function Linked({ text }: { text: string }) {
  const parts = text.split(/\b((?:run|squad)_[0-9a-z]{10})\b/);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 === 0 ? part : <a href={`/${part.startsWith('run_') ? 'r' : 's'}/${part}`}>{part}</a>,
      )}
    </>
  );
}
