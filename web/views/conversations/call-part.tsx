import type { ComponentChildren } from 'preact';
import { valueText } from '../../../src/schema/run-text.ts';
import { card } from '../../state/live.ts';
import { Icon } from '../../ui/icon.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Status, StatusWord } from '../../ui/status.tsx';
import type { Answer, Nested, Part, TalkCall } from './conversation-entries.ts';
import { LongText } from './long-text.tsx';

const MAX_BRIEF_LENGTH = 160;

interface CallPartProps extends TalkCall {
  runId: string;
}

/** A tool call, folded to its name and the start of its input; the runs it started are always shown. */
export function CallPart({ runId, messageId, call, answer, nested }: CallPartProps) {
  const given = {
    runId,
    messageId,
    pick: (content: readonly Part[]) => {
      const part = content.find(each => each.type === 'tool_call' && each.id === call.id);
      return part?.type === 'tool_call' ? valueText(part.input) : '';
    },
  };
  return (
    <div class="said-call">
      <details class="said-fold">
        <summary>
          <code>
            <PlainLine text={call.name} />
          </code>{' '}
          <span class="soft">
            <PlainLine text={brief(call.input)} />
          </span>{' '}
          <CameOf answer={answer} />
        </summary>
        <p class="soft">Input</p>
        <Value>
          <LongText text={valueText(call.input)} left={call.left} whole={given} />
        </Value>
        {answer && <AnswerPart runId={runId} {...answer} />}
      </details>
      {nested.length > 0 && (
        <ul class="said-nested" aria-label="Runs that this call started">
          {nested.map(run => (
            <NestedRun key={run.id} run={run} />
          ))}
        </ul>
      )}
    </div>
  );
}

export function AnswerPart({ runId, result, messageId }: Answer & { runId: string }) {
  const whole = {
    runId,
    messageId,
    pick: (content: readonly Part[]) => {
      const part = content.find(each => each.type === 'tool_result' && each.id === result.id);
      return part?.type === 'tool_result' ? valueText(part.output) : '';
    },
  };
  const text = valueText(result.output);
  return (
    <>
      <p class={result.isError ? 'tone-bad' : 'soft'}>
        {result.isError ? 'Error' : 'Output'}
        {text === '' && ' (empty)'}
      </p>
      {text !== '' && (
        <Value>
          <LongText text={text} left={result.left} whole={whole} />
        </Value>
      )}
    </>
  );
}

function Value({ children }: { children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable
    <div class="said-value" tabIndex={0}>
      {children}
    </div>
  );
}

function CameOf({ answer }: { answer: Answer | null }) {
  if (!answer) return <span class="soft">no result yet</span>;
  return answer.result.isError ? (
    <span class="tone-bad">
      <Icon name="cross" /> failed
    </span>
  ) : (
    <span class="tone-good">
      <Icon name="check" /> done
    </span>
  );
}

function NestedRun({ run }: { run: Nested }) {
  const known = card(run.id).value;
  return (
    <li>
      {known ? <Status card={known} /> : <StatusWord status={run.status} />}{' '}
      <a href={`/r/${run.id}/conversation`}>
        <PlainLine text={run.subagent ?? run.id} />
      </a>{' '}
      <span class="soft">
        <PlainLine text={run.title} />
      </span>
    </li>
  );
}

function brief(input: unknown): string {
  const text = (typeof input === 'string' ? input : (JSON.stringify(input) ?? '')).replace(/\s+/g, ' ');
  return text.length > MAX_BRIEF_LENGTH ? `${text.slice(0, MAX_BRIEF_LENGTH).toWellFormed()}…` : text;
}
