//! Open-ended JSON and moments as the well-known types of protobuf.
//!
//! A number is a double here: integers beyond 2^53 are rounded, `1.0` comes back as `1`, and
//! objects come back with their keys sorted. Nothing else about a value changes.

use prost_types::{ListValue, NullValue, Struct, Value, value::Kind};

use crate::{
    json::{self, Error, MAX_DEPTH, Object, Raw, Reader, ToJson, Writer, read_with, write_with},
    time::Timestamp,
};

impl From<Object> for Struct {
    fn from(object: Object) -> Self {
        read_with(object.as_str(), read_struct).unwrap_or_else(|error| {
            debug_assert!(false, "an object's text was checked when it was made: {error}");
            Self::default()
        })
    }
}

impl From<Raw> for Value {
    fn from(raw: Raw) -> Self {
        read_with(raw.as_str(), read_value).unwrap_or_else(|error| {
            debug_assert!(false, "a value's text was checked when it was made: {error}");
            null()
        })
    }
}

impl TryFrom<Struct> for Object {
    type Error = Error;

    /// Fails for what JSON cannot say or nests deeper than [`MAX_DEPTH`].
    fn try_from(fields: Struct) -> Result<Self, Error> {
        check_struct(&fields, 0)?;
        Ok(Self::checked(Raw::checked(write_with(|writer| write_struct(&fields, writer)).into())))
    }
}

impl TryFrom<Value> for Raw {
    type Error = Error;

    /// Fails for what JSON cannot say or nests deeper than [`MAX_DEPTH`].
    fn try_from(value: Value) -> Result<Self, Error> {
        check(&value, 0)?;
        Ok(Self::checked(json::to_string(&Checked(&value)).into()))
    }
}

impl From<Timestamp> for prost_types::Timestamp {
    fn from(moment: Timestamp) -> Self {
        let (seconds, nanos) = moment.to_parts();
        Self { seconds, nanos }
    }
}

impl TryFrom<prost_types::Timestamp> for Timestamp {
    type Error = Error;

    fn try_from(moment: prost_types::Timestamp) -> Result<Self, Error> {
        let prost_types::Timestamp { seconds, nanos } = moment;
        // Nanoseconds count forward, also before 1970.
        let moment = if nanos < 0 { None } else { Self::from_parts(seconds, nanos) };
        moment.ok_or_else(|| {
            Error::shape(format!("{seconds} s and {nanos} ns after 1970 is not a moment"))
        })
    }
}

fn null() -> Value {
    Value { kind: Some(Kind::NullValue(NullValue::NullValue.into())) }
}

/// Recursion ends at the depth that the reader allows.
fn read_value(reader: &mut Reader<'_>) -> Result<Value, Error> {
    let kind = match reader.peek()? {
        json::Kind::Object => Kind::StructValue(read_struct(reader)?),
        json::Kind::Array => {
            let mut values = Vec::new();
            reader.items(|reader| {
                values.push(read_value(reader)?);
                Ok(())
            })?;
            Kind::ListValue(ListValue { values })
        }
        json::Kind::String => Kind::StringValue(reader.string()?.into_owned()),
        json::Kind::Number => {
            let number = reader.number()?.parse();
            Kind::NumberValue(number.map_err(|_| Error::shape("expected a number"))?)
        }
        json::Kind::Bool => Kind::BoolValue(reader.bool()?),
        json::Kind::Null => {
            reader.null()?;
            return Ok(null());
        }
    };
    Ok(Value { kind: Some(kind) })
}

fn read_struct(reader: &mut Reader<'_>) -> Result<Struct, Error> {
    let mut object = Struct::default();
    reader.members(|reader, key| {
        object.fields.insert(key.into_owned(), read_value(reader)?);
        Ok(())
    })?;
    Ok(object)
}

/// Refuses what cannot be written as JSON; `depth` objects and lists are around the value.
fn check(value: &Value, depth: usize) -> Result<(), Error> {
    match &value.kind {
        Some(Kind::StructValue(fields)) => check_struct(fields, depth),
        Some(Kind::ListValue(list)) => {
            let depth = enter(depth)?;
            list.values.iter().enumerate().try_for_each(|(index, value)| {
                check(value, depth).map_err(|error| error.at_index(index))
            })
        }
        Some(Kind::NumberValue(number)) if !number.is_finite() => {
            Err(Error::shape("the number is out of range"))
        }
        Some(_) => Ok(()),
        None => Err(Error::shape("holds no value, not even null")),
    }
}

fn check_struct(object: &Struct, depth: usize) -> Result<(), Error> {
    let depth = enter(depth)?;
    object
        .fields
        .iter()
        .try_for_each(|(key, value)| check(value, depth).map_err(|error| error.inside(key)))
}

fn enter(depth: usize) -> Result<usize, Error> {
    if depth == MAX_DEPTH {
        return Err(Error::shape("nested deeper than 128 levels"));
    }
    Ok(depth + 1)
}

/// A value that was checked.
struct Checked<'a>(&'a Value);

impl ToJson for Checked<'_> {
    fn write(&self, writer: &mut Writer) {
        match &self.0.kind {
            Some(Kind::StructValue(object)) => write_struct(object, writer),
            Some(Kind::ListValue(list)) => {
                writer.array(&list.values, |writer, value| Checked(value).write(writer));
            }
            Some(Kind::StringValue(text)) => writer.string(text),
            Some(Kind::NumberValue(number)) => write_number(*number, writer),
            Some(Kind::BoolValue(value)) => writer.bool(*value),
            Some(Kind::NullValue(_)) | None => writer.null(),
        }
    }
}

fn write_struct(object: &Struct, writer: &mut Writer) {
    writer.object(|members| {
        for (key, value) in &object.fields {
            members.entry(key, &Checked(value));
        }
    });
}

/// Writes a double as ECMAScript does: in digits where those are few, without a fraction if
/// there is none, so that integers stay integers.
fn write_number(number: f64, writer: &mut Writer) {
    let magnitude = number.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        writer.raw(&number.to_string());
    } else {
        writer.raw(&format!("{number:e}"));
    }
}
