/** MCP_SERVER_PORT as somebody set it; null when it is not, or is none, which is told. */
export function wishedPort(text: string | undefined, warn: (message: string) => void): number | null {
  if (!text) return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  warn(`MCP_SERVER_PORT is ${JSON.stringify(text)}, which is no port (1 to 65535): taken as not set`);
  return null;
}
