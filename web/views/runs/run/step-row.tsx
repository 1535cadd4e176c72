import type { ComponentChildren } from 'preact';
import { visibleText } from '../../../../src/base/text.ts';
import { clientName } from '../../../../src/schema/run-text.ts';
import { Icon, type IconName } from '../../../ui/icon.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { Ago } from '../../../ui/time.tsx';
import { Markdown } from '../../markdown.tsx';
import type { Step } from './steps.ts';

/** Texts of a step that are shown in full; if there are more, all are folded. */
const MAX_OPEN = 2;

export function StepRow({ step }: { step: Step }) {
  switch (step.kind) {
    case 'said':
      return (
        <Row icon="more" name="Message" at={step.at} count={step.count}>
          <Markdown text={step.text} />
        </Row>
      );
    case 'tools':
    case 'notes':
      return <Folded step={step} />;
    case 'question':
      return <Question step={step} />;
    case 'review':
      return (
        <Row icon="eye" name={`Review, round ${step.iteration}`} at={step.at}>
          <a href={`/r/${step.reviewerId}`}>{step.reviewerId}</a>{' '}
          {step.outcome === null ? 'in progress' : step.outcome.replaceAll('_', ' ')}
          {step.reason && (
            <>
              : <PlainLine text={step.reason} />
            </>
          )}
        </Row>
      );
    default:
      return (
        <Row
          icon={step.tone === 'bad' ? 'cross' : step.tone === 'good' ? 'check' : 'clock'}
          name={step.name}
          at={step.at}
          tone={step.tone}
        >
          <Linked text={step.text} />
        </Row>
      );
  }
}

function Folded({ step }: { step: Step & { kind: 'tools' | 'notes' } }) {
  const { texts, kind, at } = step;
  const total = texts.reduce((sum, { count }) => sum + count, 0);
  const last = texts.at(-1)!;
  const name = kind === 'tools' ? 'Tool' : 'Note';
  const list = (
    <ul class="step-list">
      {texts.map((one, index) => (
        <li key={index}>
          <PlainLine text={one.text} />
          {one.count > 1 && <span class="soft"> ×{one.count}</span>}
        </li>
      ))}
    </ul>
  );
  return (
    <Row
      icon={kind === 'tools' ? 'half' : 'more'}
      name={name}
      at={at}
      count={total}
      textClass={kind === 'tools' ? 'step-tools' : undefined}
    >
      {texts.length <= MAX_OPEN ? (
        list
      ) : (
        <details>
          <summary>
            <PlainLine text={last.text} />
            <span class="soft"> and {texts.length - 1} before</span>
          </summary>
          {list}
        </details>
      )}
    </Row>
  );
}

function Question({ step: { item, at } }: { step: Step & { kind: 'question' } }) {
  const by = item.answeredBy;
  const who = by === null ? null : by.who === 'default' ? 'default' : `by ${clientName(by.via ?? by.who)}`;
  return (
    <Row
      icon="hand"
      name={item.kind === 'question' ? 'Question' : 'Permission request'}
      at={at}
      tone={item.state === 'open' ? 'ask' : 'plain'}
    >
      <div class="plain">{visibleText(item.question)}</div>
      {item.state !== 'open' && (
        <p class="soft">
          {item.state}
          {item.answer !== null && (
            <>
              : <span class="plain-line">{visibleText(item.answer)}</span>
            </>
          )}
          {who && ` (${who})`}
        </p>
      )}
    </Row>
  );
}

interface RowProps {
  icon: IconName;
  name: string;
  at: number;
  count?: number;
  tone?: 'plain' | 'good' | 'bad' | 'ask';
  textClass?: string;
  children: ComponentChildren;
}

function Row({ icon, name, at, count = 1, tone = 'plain', textClass = '', children }: RowProps) {
  return (
    <li class="step">
      <span class={`step-name tone-${tone}`}>
        <Icon name={icon} /> {name}
        {count > 1 && <span class="num"> ×{count}</span>}
      </span>
      <div class={`step-text ${textClass}`}>{children}</div>
      <span class="step-at soft">
        <Ago at={at} />
      </span>
    </li>
  );
}

/** Turns http and https URLs in texts of Squad into links. */
function Linked({ text }: { text: string }) {
  const url = /https?:\/\/\S+/.exec(text)?.[0];
  if (!url || !URL.canParse(url)) return <PlainLine text={text} />;
  const [before, after] = text.split(url, 2);
  return (
    <>
      <PlainLine text={before ?? ''} />
      <a href={url} rel="noreferrer noopener" target="_blank">
        {url}
      </a>
      <PlainLine text={after ?? ''} />
    </>
  );
}
