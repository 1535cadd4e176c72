import { visibleText } from '../../../../src/base/text.ts';
import {
  HOLDER_TEXT,
  PERMISSION_TEXT,
  SANDBOX_TEXT,
  sandboxText,
} from '../../../../src/schema/permission-text.ts';
import { shellWord } from '../../../../src/schema/shell-word.ts';
import { Copy } from '../../../ui/copy.tsx';
import { plural, shownDuration, shownMoney } from '../../../ui/figures.ts';
import { Section } from '../../../ui/layout.tsx';
import { PlainLine } from '../../../ui/plain.tsx';
import { Fact } from './details-parts.tsx';
import type { ShownRun } from './shown-run.ts';

/** Shows engine, environment, permission and limits of the run. */
export function How({ data: { run, setting } }: { data: ShownRun }) {
  const { options } = run;
  return (
    <Section title="Configuration">
      <dl>
        {options.subagent === null ? (
          <Fact name="Role">{run.roleId ?? 'none, only a prompt'}</Fact>
        ) : (
          <Fact name="Subagent">
            {options.subagent}
            {setting.subagentFile !== null && (
              <>
                {' '}
                <Copy text={setting.subagentFile} label="file" isShown />
              </>
            )}
          </Fact>
        )}
        <Fact name="Engine">
          {run.engine}
          {run.model && `, ${run.model}`}
          {options.effort && `, effort ${options.effort}`}
        </Fact>
        {setting.program !== null && (
          <Fact name="Program">
            <Copy text={setting.program} label="program" isShown /> {setting.version ?? 'version unknown'}
          </Fact>
        )}
        {setting.command !== null && (
          <Fact name="Command line">
            <Copy text={setting.command.map(shellWord).join(' ')} label="command line" isShown />{' '}
            <span class="soft">without secrets and the prompt</span>
          </Fact>
        )}
        <Fact name="Environment">
          {setting.variables === null ? (
            'not recorded'
          ) : (
            <details>
              <summary>{plural(setting.variables.length, 'variable')}, by name</summary>
              <code>{setting.variables.map(visibleText).join(' ')}</code>
            </details>
          )}
        </Fact>
        {options.machine !== null && <Fact name="Machine">{options.machine}</Fact>}
        <Fact name="Permission">{`${options.permission}: ${PERMISSION_TEXT[options.permission]}`}</Fact>
        <Fact name="Sandbox">{`${sandboxText(options.sandbox)}: ${SANDBOX_TEXT[options.sandbox.level]}`}</Fact>
        <Fact name="Tools">
          {options.tools === null ? 'all tools of its engine' : options.tools.join(', ') || 'none'}
        </Fact>
        {options.mcp.length > 0 && <Fact name="MCP servers">{options.mcp.join(', ')}</Fact>}
        <Fact name="May start runs">{options.spawn ? 'yes' : 'no'}</Fact>
        <Fact name="Time limit">{shownDuration(run.timeoutMs)}</Fact>
        <Fact name="Stall limit">
          {options.stallMs === null ? 'no limit' : `stopped after ${shownDuration(options.stallMs)}`}
        </Fact>
        <Fact name="Budget">
          {options.budgetUsd === null
            ? 'none'
            : `${shownMoney(options.budgetUsd)}, ${options.stopAtBudget ? 'then the run is stopped' : 'then a warning is shown'}`}
        </Fact>
        <Fact name="Chat">
          {run.chatId === null ? (
            run.stateMode
          ) : (
            <>
              <Copy text={run.chatId} label="chat id" isShown /> {run.chatIsNew ? 'new' : 'resumed'}
            </>
          )}
        </Fact>
      </dl>
    </Section>
  );
}

/** Limits of the run, and who enforces each. */
export function Rules({ data: { run } }: { data: ShownRun }) {
  if (run.policy.length === 0) return null;
  return (
    <Section title="Rules and their enforcement">
      <ul class="details-list">
        {run.policy.map(({ rule, heldBy, note }, index) => (
          <li key={index}>
            <PlainLine text={rule} /> <span class="held">{HOLDER_TEXT[heldBy]}</span>
            {note && (
              <span class="soft">
                {' '}
                <PlainLine text={note} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
