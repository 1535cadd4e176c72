import { useState } from 'preact/hooks';
import { withoutColours } from '../../../src/base/text.ts';
import { moreCalls } from '../../../src/schema/conversation-view.ts';
import { plural } from '../../ui/figures.ts';
import { Icon } from '../../ui/icon.tsx';
import { PlainLine } from '../../ui/plain.tsx';
import { Ago } from '../../ui/time.tsx';
import { AnswerPart, CallPart } from './call-part.tsx';
import type { ConversationEntry, Made, MoreCalls as More, TalkPart } from './conversation-entries.ts';
import { LongText } from './long-text.tsx';

/** Maximum number of entries of a list that is not folded. */
const FEW = 20;

/** Calls made by a program, below the call that ran it. */
function MadeCalls({ runId, made: { calls, more } }: { runId: string; made: Made }) {
  const [isOpen] = useState(() => calls.length <= FEW);
  const failed = calls.filter(({ answer }) => answer?.result.isError).length;
  return (
    <details class="said-fold said-made" open={isOpen}>
      <summary>
        {plural(calls.length, 'call')} in the program
        {failed > 0 && <span class="tone-bad">, {failed} failed</span>}
      </summary>
      <ol class="said-made-calls" aria-label="Tool calls of the program">
        {calls.map(made => (
          <li key={made.call.id}>
            <CallPart runId={runId} {...made} />
          </li>
        ))}
      </ol>
      {more && <MoreCalls more={more} />}
    </details>
  );
}

function MoreCalls({ more }: { more: More }) {
  return <p class="soft">{moreCalls(more)}: not stored</p>;
}

const NAMES: Record<ConversationEntry['role'], string> = {
  system: 'System',
  user: 'Prompt',
  assistant: 'Model',
  tool: 'Tool',
  program: 'Program',
};

/** One message with its role and parts. */
export function ConversationRow({ runId, said }: { runId: string; said: ConversationEntry }) {
  const { id, role, at, parts, hasGap } = said;
  return (
    <>
      {hasGap && (
        <li class="talk-gap tone-ask">
          <Icon name="warn" /> A message is missing here because it was too long. It is in the{' '}
          <a href={`/r/${runId}/output`}>output</a>.
        </li>
      )}
      <li class={`said said-${role}`}>
        <span class="said-name">
          {NAMES[role]}
          <span class="said-at soft">
            <Ago at={at} />
          </span>
        </span>
        <div class="said-parts">
          {parts.map((part, index) => (
            <OnePart key={index} runId={runId} messageId={id} part={part} role={role} />
          ))}
          {parts.length === 0 && <span class="soft">Empty message</span>}
        </div>
      </li>
    </>
  );
}

interface OnePartProps {
  runId: string;
  messageId: string;
  part: TalkPart;
  role: ConversationEntry['role'];
}

function OnePart({ runId, messageId, part: one, role }: OnePartProps) {
  if (one.kind === 'call')
    return (
      <>
        <CallPart runId={runId} {...one} />
        {one.made && <MadeCalls runId={runId} made={one.made} />}
      </>
    );
  if (one.kind === 'more') return <MoreCalls more={one.more} />;
  if (one.kind === 'answer') return <AnswerPart runId={runId} {...one.answer} />;
  const { part, index } = one;
  if (part.type === 'file')
    return (
      <p class="said-file">
        <PlainLine text={withoutColours(part.name)} />{' '}
        <span class="soft">
          {part.mediaType}, {part.bytes.toLocaleString('en')} bytes
        </span>
      </p>
    );
  const whole = { runId, messageId, pick: (all: readonly unknown[]) => textAt(all, index) };
  const text = <LongText text={part.text} left={part.left} whole={whole} />;
  if (part.type === 'reasoning')
    return (
      <details class="said-fold">
        <summary>Reasoning</summary>
        {text}
      </details>
    );
  // System prompts are folded: readers come for the output of the model.
  if (role === 'system')
    return (
      <details class="said-fold">
        <summary>System prompt</summary>
        {text}
      </details>
    );
  return text;
}

function textAt(content: readonly unknown[], index: number): string {
  const part = content[index] as { text?: string } | undefined;
  return part?.text ?? '';
}
