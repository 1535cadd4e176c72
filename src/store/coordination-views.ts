import { type Kysely, sql } from 'kysely';
import type { SchemaWords } from './backend.ts';
import type { Tables } from './tables.ts';

/** The tables under the names that programs written for an MCP coordination server query. Read-only; see docs/guides/watching.md. */
export async function coordinationViews(db: Kysely<Tables>, { jsonField }: SchemaWords): Promise<void> {
  const view = (name: string, select: string) => sql.raw(`create view ${name} as ${select}`).execute(db);

  await view(
    'instances',
    `select id, type, status, role_id, engine, model, task, workspace, directory,
       ${jsonField('worktree', 'path')} as worktree_path, ${jsonField('worktree', 'branch')} as branch_name,
       parent_id as parent_instance, lineage_id, squad_id, client, cost_usd, created_at, started_at, ended_at
     from runs`,
  );

  await view(
    'instance_relationships',
    `select coder_id as parent_instance, reviewer_id as child_instance, 'spawned_review' as relationship_type,
       iteration as review_iteration, requested_at as created_at
     from reviews
     union all
     select parent_id, id, 'spawned', null, created_at
     from runs where parent_id is not null and review_of is null`,
  );

  await view(
    'mcp_events',
    `select seq as id, at as created_at, run_id as instance_id, type as event_type,
       ${jsonField('data', 'tool')} as tool_name, ${jsonField('data', 'ok')} as success,
       ${jsonField('data', 'code')} as error_code, data
     from events`,
  );

  // The settings table holds only what somebody changed; the limits of reviews are read from here, so they are always there.
  await view(
    'user_config',
    `select key, value, 0 as is_encrypted from settings
     union all
     select column1, column2, 0
     from (values ('review.max_iterations', '3'), ('review.auto_abandon_after', '5'), ('review.timeout_hours', '24')) as defaults
     where column1 not in (select key from settings)`,
  );
}
