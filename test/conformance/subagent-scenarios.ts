/** Scenarios of the official suite that apply to a stdio server with one tool, by revision. */
export const SUBAGENT_SCENARIOS: Record<string, string[]> = {
  '2025-11-25': [
    'server-initialize',
    'logging-set-level',
    'ping',
    'tools-list',
    'tools-call-error',
    'server-sse-multiple-streams',
  ],
  '2026-07-28': [
    'server-stateless',
    'tools-list',
    'tools-call-error',
    'server-sse-multiple-streams',
    'caching',
    'input-required-result-unsupported-methods',
  ],
};

/** Tools that a scenario calls without arguments only to get an error. */
export const TOOL_OF: Record<string, string> = {
  'tools-call-error': 'test_error_handling',
  'server-stateless': 'test_logging_tool',
};

/** Scenarios that do not apply, by reason. A scenario in neither list fails the test until it is added to one. */
export const UNSUPPORTED_SCENARIOS: Record<string, string[]> = {
  'HTTP: subagents are served over stdio only': [
    'server-session-lifecycle',
    'server-sse-polling',
    'dns-rebinding-protection',
    'http-header-validation',
    'http-custom-header-server-validation',
  ],
  'resources: subagents have none': [
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
    'sep-2164-resource-not-found',
  ],
  'prompts and completion: subagents have none': [
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
    'completion-complete',
    'input-required-result-non-tool-request',
  ],
  'needs a tool of the reference server that works without a prompt': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-logging',
    'tools-call-with-progress',
  ],
  'needs an input schema of the reference server': ['json-schema-2020-12'],
  'needs a tool that asks its client during a call': [
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    'input-required-result-basic-elicitation',
    'input-required-result-basic-sampling',
    'input-required-result-basic-list-roots',
    'input-required-result-request-state',
    'input-required-result-multiple-input-requests',
    'input-required-result-multi-round',
    'input-required-result-missing-input-response',
    'input-required-result-result-type',
    'input-required-result-tampered-state',
    'input-required-result-capability-check',
    'input-required-result-ignore-extra-params',
    'input-required-result-validate-input',
  ],
  'an extension that subagents do not support': [
    'sep-2640-skills-directory',
    'sep-2640-skills-enumeration',
    'sep-2640-skills-manifest',
    'tasks-lifecycle',
    'tasks-capability-negotiation',
    'tasks-wire-fields',
    'tasks-request-state-removal',
    'tasks-mrtr-input',
    'tasks-request-headers',
    'tasks-dispatch-and-envelope',
    'tasks-status-notifications',
    'tasks-required-task-error',
    'tasks-mrtr-composition',
  ],
};

/** Checks of the scenarios above that do not apply, each with the reason. */
export const UNSUPPORTED_CHECKS: Record<string, Record<string, string>> = {
  'server-stateless': {
    'sep-2575-http-server-header-mismatch-400': 'HTTP headers',
    'sep-2575-server-rejects-undeclared-capability': 'a tool that needs a capability of its client',
    'sep-2575-missing-capability-http-400': 'a tool that needs a capability of its client',
    'sep-2575-http-server-no-independent-requests-on-stream': 'a tool that asks its client',
    'sep-2575-server-sends-prompts-list-changed-on-subscription': 'prompts',
    'sep-2575-server-sends-tools-list-changed-on-subscription': 'a list of tools that changes',
  },
  caching: {
    'sep-2549-prompts-list-caching-hints': 'prompts',
    'sep-2549-resources-list-caching-hints': 'resources',
    'sep-2549-resources-templates-list-caching-hints': 'resources',
    'sep-2549-resources-read-caching-hints': 'resources',
  },
};
