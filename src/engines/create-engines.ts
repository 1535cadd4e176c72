import { join } from 'node:path';
import type { Engine, Engines } from '../core/ports/engine.ts';
import { findExecutable } from '../process/programs/find-executable.ts';
import type { EngineSpec } from '../schema/engine-spec.ts';
import { createAcpEngine } from './acp/acp-engine.ts';
import { createCliEngine } from './cli-profile.ts';
import { cliProfile, readerOf } from './cli-profiles.ts';
import { installedClis } from './installed-clis.ts';
import { readingResets } from './limit-reset.ts';
import { createNativeEngine } from './native/native-engine.ts';
import { createProgramVersions } from './program-versions.ts';
import { createScriptedEngine } from './scripted/scripted-engine.ts';
import { createTemplateEngine } from './template/template-engine.ts';

export interface EngineSurroundings {
  node: string;
  /** The folder of the bundled programs. */
  programs: string;
  home: string;
}

/** Creates an engine from the spec that is stored with a run. */
export function createEngines({ node, programs, home }: EngineSurroundings): Engines {
  const scripted = createScriptedEngine({ node, agentScript: join(programs, 'scripted-agent.cjs') });
  const native = { node, agentScript: join(programs, 'agent.cjs'), compileCache: join(home, 'cache') };
  const create = (spec: EngineSpec): Engine => {
    if (spec.kind === 'scripted') return scripted;
    if (spec.kind === 'native') return createNativeEngine(native, spec);
    if (spec.kind === 'cli') return createCliEngine(cliProfile(spec.cli), spec);
    if (spec.kind === 'acp') return createAcpEngine(spec);
    return createTemplateEngine({ ...spec, reader: readerOf(spec.parser), findExecutable });
  };
  return {
    ...installedClis(createProgramVersions(join(home, 'cache', 'versions.json'))),
    create(spec) {
      const engine = create(spec);
      const { reader } = engine;
      return reader ? { ...engine, reader: () => readingResets(reader()) } : engine;
    },
  };
}
