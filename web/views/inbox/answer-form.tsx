import { visibleText } from '../../../src/base/text.ts';
import type { InboxField } from '../../../src/schema/inbox.ts';
import { disambiguate } from '../../ui/disambiguate.ts';
import type { AnswerProps } from './answer-box.tsx';
import { Decline } from './decline.tsx';
import { formAnswer } from './form-answer.ts';

/** Form requested by an MCP server. */
export function AnswerForm({ item, answering: { why, send } }: AnswerProps) {
  return (
    <form
      class="ask-form"
      onSubmit={event => {
        event.preventDefault();
        void send(formAnswer(item.fields, new FormData(event.currentTarget)));
      }}
    >
      {item.fields.map(field => (
        <Field key={field.name} field={field} />
      ))}
      <p class="ask-answers">
        <button
          type="submit"
          class="button main"
          title={why ?? undefined}
          aria-disabled={why !== null || undefined}
        >
          send
        </button>
        <Decline {...{ why, send }} />
      </p>
    </form>
  );
}

function Field({ field }: { field: InboxField }) {
  const { title, description, isRequired, type } = field;
  const bounds = boundsOf(field);
  const words = (
    <span>
      {visibleText(title)}
      {isRequired && <span class="tone-ask"> (required)</span>}
      {bounds && <span class="soft"> {bounds}</span>}
      {description && <span class="faint"> – {visibleText(description)}</span>}
    </span>
  );
  if (type === 'choices')
    return (
      <fieldset>
        <legend>{words}</legend>
        {disambiguate(field.choices).map((shown, index) => (
          <label key={index} class="tick">
            <input type="checkbox" name={field.name} value={field.choices[index]} />
            {shown}
          </label>
        ))}
      </fieldset>
    );
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the component inside
    <label>
      {words}
      <Control field={field} />
    </label>
  );
}

function Control({ field }: { field: InboxField }) {
  const { name, type, choices, isRequired: required } = field;
  if (type === 'number')
    return (
      <input
        type="number"
        {...{ name, required }}
        min={field.minimum}
        max={field.maximum}
        step={field.isInteger ? 1 : 'any'}
      />
    );
  if (type === 'text')
    return (
      <input type="text" {...{ name, required }} minLength={field.minLength} maxLength={field.maxLength} />
    );
  // An empty value is offered too, because no choice is not the same as "no".
  const values = type === 'boolean' ? ['yes', 'no'] : choices;
  return (
    <select {...{ name, required }}>
      <option value="">–</option>
      {disambiguate(values).map((shown, index) => (
        <option key={index} value={values[index]}>
          {shown}
        </option>
      ))}
    </select>
  );
}

/** Describes the constraints of a field. */
function boundsOf({ type, minimum, maximum, minLength, maxLength, isInteger, format, pattern }: InboxField) {
  const [least, most] = type === 'number' ? [minimum, maximum] : [minLength, maxLength];
  const unit = type === 'text' ? ' characters' : '';
  const range =
    least !== undefined && most !== undefined
      ? `${least} to ${most}${unit}`
      : least !== undefined
        ? `${least}${unit} or more`
        : most !== undefined
          ? `${most}${unit} or less`
          : null;
  const kind = isInteger ? 'whole number' : format !== undefined ? visibleText(format) : null;
  const like = pattern === undefined ? null : `pattern ${visibleText(pattern)}`;
  return [kind, range, like].filter(part => part !== null).join(', ');
}
