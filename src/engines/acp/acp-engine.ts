import type { Engine } from '../../core/ports/engine.ts';
import { findExecutable } from '../../process/programs/find-executable.ts';
import { programFolders } from '../../process/programs/program-folders.ts';
import type { EngineSpec } from '../../schema/engine-spec.ts';
import { SquadError } from '../../schema/error.ts';
import { advisory, held, policyRules } from '../policy-rules.ts';
import { locateProgram } from '../template/template-engine.ts';
import { acpDriver } from './acp-driver.ts';
import { acpReader } from './acp-reader.ts';

/** Any agent of the Agent Client Protocol. All its turns are fed. */
export const createAcpEngine = ({ id, command }: Extract<EngineSpec, { kind: 'acp' }>): Engine => ({
  id,
  async command(input) {
    if (input.options.machine !== null) throw notElsewhere(id);
    if (input.model !== null) throw noModel(id);
    const program = locateProgram(`engine ${id}`, command[0], input, findExecutable);
    return { argv: [program, ...command.slice(1)], stdin: null, isFed: true, env: input.env };
  },
  newChat: { kind: 'reported' },
  interactive: null,
  reader: acpReader,
  isAlwaysFed: true,
  driver: start => acpDriver(start),
  policy: options =>
    policyRules(options, {
      read: advisory(`Squad refuses what changes something, if the agent asks. ${TRUSTED}`),
      edit: advisory(`Squad refuses changes outside its folder, if the agent asks. ${TRUSTED}`),
      approvals: held('the user is asked when the agent asks; without an answer the action is refused'),
      tools: advisory('the protocol has no list of tools'),
      budget: advisory('the protocol reports no cost that Squad could add up'),
      schema: advisory('the protocol has no schema; Squad checks the answer'),
      effort: advisory('the protocol has no effort'),
    }),
  loadsItself: [],
  wantsEndpoint: true,
  // Only the user knows which variables the program needs, and lists them under `env` in the role.
  needsVariable: () => false,
  takesSchema: false,
  usageIsReported: 'at_end',
  sandbox: ({ env, cwd }) => {
    const found = findExecutable(command[0], { path: env.PATH || '/nonexistent', cwd });
    const programs = found.status === 'found' ? programFolders(found.path, env) : [];
    return { programs, login: [], drops: [], writes: [], hosts: [] };
  },
  sandboxLimit: { kind: 'on_request', reason: 'Squad does not know which files the agent needs' },
});

const TRUSTED = 'The agent itself decides what it asks for';

const noModel = (id: string): SquadError =>
  new SquadError('INVALID_INPUT', `The engine ${id} cannot be given a model`, {
    suggestions: ['Add the option for its model to the command of the engine, or leave the model out.'],
  });

const notElsewhere = (id: string): SquadError =>
  new SquadError('INVALID_INPUT', `The engine ${id} runs only on this machine`, {
    suggestions: [
      'Squad sends messages to this agent through a file that must be on the machine of the hub. Leave the machine out.',
    ],
  });
