import type { InboxField, InboxItem } from '../../../src/schema/inbox.ts';
import { harmless } from '../../ui/harmless.ts';
import { formAnswer } from './form-answer.ts';
import { sendAnswer } from './send-answer.ts';

/** A server's form, as far as a person can be asked for it. */
export function AnswerForm({ item }: { item: InboxItem }) {
  return (
    <form
      class="ask-form"
      onSubmit={event => {
        event.preventDefault();
        void sendAnswer(item.id, formAnswer(item.fields, new FormData(event.currentTarget)));
      }}
    >
      {item.fields.map(field => (
        <Field key={field.name} field={field} />
      ))}
      <p class="ask-answers">
        <button type="submit" class="button main">
          send
        </button>
      </p>
    </form>
  );
}

function Field({ field }: { field: InboxField }) {
  const { title, description, isRequired, type } = field;
  const words = (
    <span>
      {harmless(title)}
      {isRequired && <span class="tone-ask"> (needed)</span>}
      {description && <span class="faint"> – {harmless(description)}</span>}
    </span>
  );
  if (type === 'choices')
    return (
      <fieldset>
        <legend>{words}</legend>
        {field.choices.map(choice => (
          <label key={choice} class="tick">
            <input type="checkbox" name={field.name} value={choice} />
            {harmless(choice)}
          </label>
        ))}
      </fieldset>
    );
  if (type === 'boolean')
    return (
      <label class="tick">
        <input type="checkbox" name={field.name} />
        {words}
      </label>
    );
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the component inside
    <label>
      {words}
      <Control field={field} />
    </label>
  );
}

function Control({ field: { name, type, choices, isRequired } }: { field: InboxField }) {
  if (type === 'number') return <input type="number" name={name} required={isRequired} step="any" />;
  if (type !== 'choice') return <input type="text" name={name} required={isRequired} />;
  return (
    <select name={name} required={isRequired}>
      <option value="">–</option>
      {choices.map(choice => (
        <option key={choice} value={choice}>
          {harmless(choice)}
        </option>
      ))}
    </select>
  );
}
