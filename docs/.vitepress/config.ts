import { defineConfig } from 'vitepress';

/** Pages by need; `docs/index.md` has the same groups. */
const SIDEBAR: [string, [string, string][]][] = [
  [
    'Start',
    [
      ['Squad', '/'],
      ['All documentation', '/docs/'],
      ['Install', '/docs/guides/setup/install'],
    ],
  ],
  [
    'Tutorials',
    [
      ['Your first squad', '/docs/tutorials/first-squad'],
      ['Your first review loop', '/docs/tutorials/first-review-loop'],
      ['Your first subagent', '/docs/tutorials/first-subagent'],
    ],
  ],
  [
    'Run agents',
    [
      ['Commands by task', '/docs/guides/commands'],
      ['Watch', '/docs/guides/runs/watching'],
      ['After a run', '/docs/guides/runs/after-a-run'],
      ['Attach and take over', '/docs/guides/runs/attach'],
      ['Continue a chat of your own', '/docs/guides/runs/existing-chats'],
      ['Talk to a running agent', '/docs/guides/runs/talking-to-agents'],
      ['Agents that start agents', '/docs/guides/runs/leads'],
      ['Other machines', '/docs/guides/machines'],
      ['Usage limits', '/docs/guides/runs/usage-limits'],
      ['Inbox', '/docs/guides/inbox'],
      ['Permission requests', '/docs/guides/permission-requests'],
      ['Cost and budgets', '/docs/guides/cost'],
      ['Export', '/docs/guides/output'],
    ],
  ],
  [
    'Choose who works',
    [
      ['Engines', '/docs/guides/engines/'],
      ['Roles', '/docs/guides/roles/roles'],
      ['Project context', '/docs/guides/roles/context'],
      ['Agent templates', '/docs/guides/roles/agent-templates'],
      ["The team's files", '/docs/guides/team'],
    ],
  ],
  [
    'Check and merge',
    [
      ['Evidence', '/docs/guides/evidence'],
      ['Work trees', '/docs/guides/worktrees'],
      ['Sandboxes', '/docs/guides/sandbox'],
      ['Proof of a sandbox', '/docs/guides/sandbox-proof'],
      ['Removing work trees', '/docs/guides/worktree-removal'],
      ['Review loops', '/docs/guides/review/review-loops'],
      ['Pull requests', '/docs/guides/review/pull-requests'],
      ['Integration', '/docs/guides/integration'],
    ],
  ],
  [
    'Tools and subagents',
    [
      ['Other MCP servers', '/docs/guides/gateway/mcp-servers'],
      ['Tools of a role', '/docs/guides/gateway/tool-access'],
      ['Servers in operation', '/docs/guides/gateway/server-operation'],
      ['Audit log', '/docs/guides/gateway/audit'],
      ['Subagents', '/docs/guides/subagents'],
      ['Results of a subagent', '/docs/guides/subagent-results'],
      ['Subagents in operation', '/docs/guides/subagent-runs'],
    ],
  ],
  [
    'Set up and connect',
    [
      ['MCP clients', '/docs/guides/setup/clients'],
      ['Squad in Zed', '/docs/guides/setup/zed'],
      ['Squad in JetBrains IDEs', '/docs/guides/setup/jetbrains'],
      ['Squad in Neovim', '/docs/guides/setup/neovim'],
      ['Long calls and HTTP', '/docs/guides/setup/calls'],
      ['Web UI', '/docs/guides/hub/web-ui'],
      ['Keys of the web UI', '/docs/guides/hub/web-ui-keys'],
      ['REST API', '/docs/guides/hub/rest-api'],
      ['Traces, metrics, logs', '/docs/guides/hub/observability'],
      ['PostgreSQL', '/docs/guides/hub/postgresql'],
      ['A team on PostgreSQL', '/docs/guides/hub/team-database'],
      ['CI', '/docs/guides/ci'],
      ['Upgrade and uninstall', '/docs/guides/setup/upgrade'],
      ['Troubleshooting', '/docs/guides/setup/troubleshooting'],
    ],
  ],
  [
    'Reference',
    [
      ['Command line', '/docs/reference/cli'],
      ['MCP tools', '/docs/reference/tools'],
      ['Configuration', '/docs/reference/configuration'],
      ['Statuses and exit codes', '/docs/reference/statuses'],
      ['Error codes', '/docs/reference/errors'],
      ['Permissions by engine', '/docs/reference/permissions'],
      ['Glossary', '/CONTEXT'],
    ],
  ],
  [
    'Explanation',
    [
      ['Concepts', '/docs/explanation/concepts'],
      ['Architecture', '/ARCHITECTURE'],
      ['Security model', '/docs/explanation/security-model'],
      ['Reliability', '/docs/reliability'],
      ['Compared with other ways', '/docs/explanation/comparison'],
      ['Decisions', '/docs/decisions/'],
      ['Changes', '/CHANGELOG'],
    ],
  ],
];

/** Lists of tests: nobody searches for them, and they would fill the results. */
const NOT_SEARCHED = /^docs\/(coverage|security-tests)\.md$/;

export default defineConfig({
  title: 'Squad',
  description:
    'Run a team of coding agents of several vendors from any MCP client, the terminal or a browser.',
  // The documents at the root of the repository are pages too, and every relative link is the same here and on a Git host.
  srcDir: '..',
  srcExclude: ['{.ci,bench,plugin,roles,src,templates,test,web}/**', 'examples/**/*.prompt.md'],
  rewrites: { 'README.md': 'index.md' },
  markdown: {
    // Documents are text: Vue must not look for expressions in them.
    config(md) {
      for (const rule of ['text', 'code_inline'] as const) {
        const render = md.renderer.rules[rule]!;
        md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;');
      }
      // The corner of a table is no header: a screen reader would announce an empty one.
      md.core.ruler.push('corners', ({ tokens }) => {
        for (const [at, token] of tokens.entries())
          if (token.type === 'th_open' && tokens[at + 1]!.content === '')
            token.tag = tokens[at + 2]!.tag = 'td';
      });
    },
  },
  head: [
    [
      'style',
      {},
      // Tables whose header says nothing; and wide ones, of which the last column would be cut off.
      '.vp-doc thead:not(:has(th:not(:empty))) { display: none } .vp-doc :is(th, td) { padding: 6px 10px } .vp-doc td { font-size: 13.5px }',
    ],
  ],
  vite: {
    // The configuration at the root builds the web UI.
    configFile: false,
    // The index of the search is one file.
    build: { chunkSizeWarningLimit: 3000 },
  },
  themeConfig: {
    nav: [
      { text: 'Tutorial', link: '/docs/tutorials/first-squad' },
      { text: 'Guides', link: '/docs/' },
      { text: 'Reference', link: '/docs/reference/cli' },
      { text: 'Concepts', link: '/docs/explanation/concepts' },
    ],
    sidebar: SIDEBAR.map(([text, pages]) => ({
      text,
      items: pages.map(([title, link]) => ({ text: title, link })),
    })),
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        _render: (source, env, md) => (NOT_SEARCHED.test(env.relativePath) ? '' : md.render(source, env)),
      },
    },
  },
});
