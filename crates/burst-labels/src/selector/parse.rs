//! Parses tokens into requirements, in the same steps as Go's parser: the steps decide which of several errors is reported.

use super::error::{Invalid, ParseRequirementError, ParseSelectorError};
use super::lex::{Token, tokens};
use super::{Operator, Requirement, Selector};
use crate::content;
use std::collections::BTreeSet;
use std::str::FromStr;

type Values<'a> = BTreeSet<&'a str>;

impl FromStr for Selector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let tokens = tokens(text);
        let mut parser = SelectorParser { tokens: &tokens };
        let mut requirements = parser.requirements()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self(requirements))
    }
}

/// The remaining tokens.
struct SelectorParser<'a> {
    tokens: &'a [(Token, &'a str)],
}

impl<'a> SelectorParser<'a> {
    /// Returns the next token as part of a key or value, where `in` and `notin` are identifiers.
    fn peek(&self) -> (Token, &'a str) {
        match self.tokens.first().copied() {
            None => (Token::End, ""),
            Some((Token::In | Token::NotIn, text)) => (Token::Identifier, text),
            Some(token) => token,
        }
    }

    fn take(&mut self) -> (Token, &'a str) {
        let token = self.peek();
        self.tokens = self.tokens.get(1..).unwrap_or_default();
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, ParseSelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => requirements.push(self.requirement()?),
                (Token::End, _) => return Ok(requirements),
                (_, found) => return Err(ParseSelectorError::Start(found.into())),
            }
            match (self.take(), self.peek()) {
                ((Token::End, _), _) => return Ok(requirements),
                ((Token::Comma, _), (Token::Identifier | Token::Not, _)) => {}
                ((Token::Comma, _), (_, found)) => return Err(ParseSelectorError::AfterComma(found.into())),
                ((_, found), _) => return Err(ParseSelectorError::End(found.into())),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, ParseRequirementError> {
        let denied = self.peek().0 == Token::Not;
        if denied {
            self.take();
        }
        let key = match self.take() {
            (Token::Identifier, key) => key,
            (_, found) => return Err(ParseRequirementError::Identifier(found.into())),
        };
        if let Some(invalid) = invalid(key, &content::label_key(key)) {
            return Err(ParseRequirementError::Key(invalid));
        }
        if denied {
            return requirement(key, Operator::DoesNotExist, &Values::new());
        }
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return requirement(key, Operator::Exists, &Values::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.list()?,
            _ => self.value()?,
        };
        requirement(key, operator, &values)
    }

    fn operator(&mut self) -> Result<Operator, ParseRequirementError> {
        let (token, found) = self.tokens.first().copied().unwrap_or((Token::End, ""));
        self.take();
        match token {
            Token::In => Ok(Operator::In),
            Token::NotIn => Ok(Operator::NotIn),
            Token::Equals => Ok(Operator::Equals),
            Token::DoubleEquals => Ok(Operator::DoubleEquals),
            Token::NotEquals => Ok(Operator::NotEquals),
            Token::GreaterThan => Ok(Operator::GreaterThan),
            Token::LessThan => Ok(Operator::LessThan),
            _ => Err(ParseRequirementError::Operator(found.into())),
        }
    }

    /// Reads the value after `=` and similar operators. A missing value is empty.
    fn value(&mut self) -> Result<Values<'a>, ParseRequirementError> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(Values::from([""]));
        }
        match self.take() {
            (Token::Identifier, value) => Ok(Values::from([value])),
            (_, found) => Err(ParseRequirementError::Identifier(found.into())),
        }
    }

    /// Reads the values in parentheses. A missing value between commas is empty.
    fn list(&mut self) -> Result<Values<'a>, ParseRequirementError> {
        match self.take() {
            (Token::Open, _) => {}
            (_, found) => return Err(ParseRequirementError::List(found.into())),
        }
        let values = match self.peek() {
            (Token::Identifier | Token::Comma, _) => self.values()?,
            (Token::Close, _) => Values::from([""]),
            (_, found) => return Err(ParseRequirementError::ListStart(found.into())),
        };
        // The next token is the closing parenthesis: nothing else ends a list.
        self.take();
        Ok(values)
    }

    fn values(&mut self) -> Result<Values<'a>, ParseRequirementError> {
        let mut values = Values::new();
        loop {
            match (self.take(), self.peek()) {
                ((Token::Identifier, value), (Token::Comma, _)) => drop(values.insert(value)),
                ((Token::Identifier, value), (Token::Close, _)) => {
                    values.insert(value);
                    return Ok(values);
                }
                ((Token::Identifier, _), (_, found)) => return Err(ParseRequirementError::ListEnd(found.into())),
                ((Token::Comma, _), (next, _)) => {
                    if values.is_empty() || matches!(next, Token::Close | Token::Comma) {
                        values.insert("");
                    }
                    if next == Token::Close {
                        return Ok(values);
                    }
                }
                ((_, found), _) => return Err(ParseRequirementError::ListValue(found.into())),
            }
        }
    }
}

fn requirement(key: &str, operator: Operator, values: &Values<'_>) -> Result<Requirement, ParseRequirementError> {
    let mut errors = Vec::new();
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        let reason = "for 'Gt', 'Lt' operators, the value must be an integer";
        let texts = values.iter().filter(|value| value.parse::<i64>().is_err());
        errors.extend(texts.filter_map(|value| Some(("values[0]".to_owned(), invalid(value, &[reason])?))));
    }
    for (index, value) in values.iter().enumerate() {
        let invalid = invalid(value, &content::label_value(value));
        errors.extend(invalid.map(|invalid| (format!("values[{index}][{key}]"), invalid)));
    }
    if !errors.is_empty() {
        return Err(ParseRequirementError::Values(errors));
    }
    Ok(Requirement {
        key: key.into(),
        operator,
        values: values.iter().map(|value| (*value).into()).collect(),
    })
}

fn invalid(value: &str, faults: &[impl AsRef<str>]) -> Option<Invalid> {
    let faults: Vec<_> = faults.iter().map(AsRef::as_ref).collect();
    (!faults.is_empty()).then(|| Invalid {
        value: value.into(),
        reason: faults.join("; "),
    })
}
