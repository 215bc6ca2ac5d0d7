// The tools as a client lists them. Made once: making the schemas anew took 2.4 to 4 ms for each list.

import { z } from 'zod'
import { MCP_TOOLS, type McpTool } from './mcp.ts'

interface Definition {
  name: McpTool
  description: string
  annotations: Record<string, string | boolean>
  inputSchema: { type: 'object' }
  outputSchema: { type: 'object' }
}

const LEFT_OUT = new Set(['$schema', 'minLength', 'maxLength'])

export const MCP_DEFINITIONS: readonly Definition[] = (Object.keys(MCP_TOOLS) as McpTool[]).map(definitionOf)

function definitionOf(name: McpTool): Definition {
  const { title, description, input, output } = MCP_TOOLS[name]
  const hints: { readsOnly?: true; destroys?: true; repeatable?: true } = MCP_TOOLS[name].hints
  return {
    name,
    description,
    annotations: {
      title,
      readOnlyHint: hints.readsOnly ?? false,
      destructiveHint: hints.destroys ?? false,
      idempotentHint: hints.repeatable ?? false,
      openWorldHint: false,
    },
    inputSchema: schemaOf(input),
    outputSchema: schemaOf(output),
  }
}

/**
 * Without what says nothing to a model, which reads the list with every request: the dialect, that other members may be
 * there, and bounds that no sentence and no number of a sane call comes near. What is beyond them is refused in words.
 */
function schemaOf(schema: z.ZodType): { type: 'object' } {
  const made = z.toJSONSchema(schema, { io: 'input' })
  const short = JSON.stringify(made, (name, value) =>
    LEFT_OUT.has(name) || (name === 'additionalProperties' && value !== false) || isWidest(value) ? undefined : value,
  )
  return JSON.parse(short)
}

function isWidest(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER
}
