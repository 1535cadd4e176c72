import { shellWord } from '../../../../src/schema/shell-word.ts';
import { Copy } from '../../../ui/copy.tsx';
import { shownDuration, shownMoney } from '../../../ui/figures.ts';
import { harmless } from '../../../ui/harmless.ts';
import { Plain } from '../../../ui/plain.tsx';
import { Fact, Part } from './details-parts.tsx';
import type { ShownRun } from './shown-run.ts';

/** Engine, environment, permission and limits. */
export function How({ data: { run, setting } }: { data: ShownRun }) {
  const { options } = run;
  return (
    <Part title="How">
      <dl>
        {options.subagent === null ? (
          <Fact name="Role">{run.roleId ?? 'none: a bare prompt'}</Fact>
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
          <Fact name="Started as">
            <Copy text={setting.command.map(shellWord).join(' ')} label="command line" isShown />{' '}
            <span class="soft">without secrets and prompt</span>
          </Fact>
        )}
        <Fact name="Environment">
          {setting.variables === null ? (
            'not kept'
          ) : (
            <details>
              <summary>
                {setting.variables.length} {setting.variables.length === 1 ? 'variable' : 'variables'}, by
                name
              </summary>
              <code>{setting.variables.map(harmless).join(' ')}</code>
            </details>
          )}
        </Fact>
        <Fact name="May">{PERMISSIONS[options.permission]}</Fact>
        <Fact name="Tools">
          {options.tools === null ? 'all its engine has' : options.tools.join(', ') || 'none'}
        </Fact>
        {options.mcp.length > 0 && <Fact name="Other servers">{options.mcp.join(', ')}</Fact>}
        <Fact name="Starts others">{options.spawn ? 'yes' : 'no'}</Fact>
        <Fact name="Time limit">{shownDuration(run.timeoutMs)}</Fact>
        <Fact name="Without a sign">
          {options.stallMs === null ? 'no limit' : `stopped after ${shownDuration(options.stallMs)}`}
        </Fact>
        <Fact name="Budget">
          {options.budgetUsd === null
            ? 'none'
            : `${shownMoney(options.budgetUsd)}, ${options.stopAtBudget ? 'then it is stopped' : 'then it is told'}`}
        </Fact>
        <Fact name="Chat">
          {run.chatId === null ? (
            run.stateMode
          ) : (
            <>
              <Copy text={run.chatId} label="chat id" isShown /> {run.chatIsNew ? 'its own' : 'gone on with'}
            </>
          )}
        </Fact>
      </dl>
    </Part>
  );
}

const PERMISSIONS = {
  read: 'look only',
  edit: 'change files and run commands in its folder',
  full: 'anything at all',
} as const;

/** Each limit with who holds it. */
export function Rules({ data: { run } }: { data: ShownRun }) {
  if (run.policy.length === 0) return null;
  return (
    <Part title="Rules, and who holds them">
      <ul class="details-list">
        {run.policy.map(({ rule, heldBy, note }, index) => (
          <li key={index}>
            <Plain text={rule} isBlock={false} /> <span class="held">{HOLDERS[heldBy]}</span>
            {note && (
              <span class="soft">
                {' '}
                <Plain text={note} isBlock={false} />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Part>
  );
}

const HOLDERS = {
  system: 'held by Squad',
  engine: "held by the engine's own checks",
  advisory: 'only in its instructions',
} as const;
