//! A type out of a tree. On its way up an error collects the keys that lead to it.
//!
//! Nothing generic here is inlined, for a configuration is read once: each of its types makes code once, and not wherever
//! a field is of that type.

use crate::Refusal;
use crate::tree::Tree;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use std::{iter, vec};

impl Tree {
    fn is_not<'de, V: Visitor<'de>>(&self, visitor: &V) -> Refusal {
        Refusal::invalid_type(self.unexpected(), visitor)
    }
}

impl<'de> Deserializer<'de> for Tree {
    type Error = Refusal;

    // A type that has to know what to ask for is a type that cannot be written in two ways.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        Err(self.is_not(&visitor))
    }

    #[inline(never)]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Self::Bool(value) => visitor.visit_bool(value),
            other => Err(other.is_not(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            other => Err(other.is_not(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Self::Float(value) => visitor.visit_f64(value),
            other => other.deserialize_u64(visitor),
        }
    }

    #[inline(never)]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Self::Text(text) => visitor.visit_string(text),
            other => Err(other.is_not(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Self::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    #[inline(never)]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Self::List(items) => visitor.visit_seq(Items(items.into_iter().enumerate())),
            other => Err(other.is_not(&visitor)),
        }
    }

    #[inline(never)]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self {
            Self::Object(fields) => visitor.visit_map(Fields {
                ahead: fields.into_iter(),
                open: None,
            }),
            other => Err(other.is_not(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.deserialize_map(visitor)
    }

    #[inline(never)]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self {
            Self::Text(word) => visitor.visit_enum(word.into_deserializer()),
            other => Err(other.is_not(&visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_i8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_string(visitor)
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

struct Items(iter::Enumerate<vec::IntoIter<Tree>>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Refusal;

    #[inline(never)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Refusal> {
        let Some((place, item)) = self.0.next() else {
            return Ok(None);
        };
        match seed.deserialize(item) {
            Ok(value) => Ok(Some(value)),
            Err(refusal) => Err(refusal.below(&format!("[{place}]"))),
        }
    }
}

struct Fields {
    ahead: vec::IntoIter<(String, Tree)>,
    /// The field whose key is read already.
    open: Option<(String, Tree)>,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Refusal;

    #[inline(never)]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refusal> {
        self.open = self.ahead.next();
        let Some((key, _)) = &self.open else {
            return Ok(None);
        };
        match seed.deserialize(key.as_str().into_deserializer()) {
            Ok(value) => Ok(Some(value)),
            Err(refusal) => Err(Refusal::below(refusal, key)),
        }
    }

    #[inline(never)]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refusal> {
        let (key, value) = self.open.take().unwrap_or((String::new(), Tree::Null));
        seed.deserialize(value).map_err(|refusal| refusal.below(&key))
    }
}
